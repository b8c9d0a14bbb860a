// Serves OpenAPI documents by Prism, which refuses each request that its document does not allow: `node mock.cjs FILE ..`
//
// For each document, as soon as it is served, one line of JSON: {"file", "url", "operations"}, or {"file", "error"}. The path
// of an operation follows `url` directly, without the path of a server of the document. Status 204, without a body, means that
// the request was accepted. A refusal has the content type `application/problem+json`, the status and the end of `type` that
// say why, and with 422 or 415 a list `validation` of {"location", "message"}: 422 or 415 UNPROCESSABLE_ENTITY (a parameter or
// the body), 401 UNAUTHORIZED, 404 NO_PATH_MATCHED_ERROR, 405 NO_METHOD_MATCHED_ERROR, 500 UNKNOWN (a body that is no JSON).
// Requests need the credentials that the document demands, unless `--without-security` stands before the files.
// The process ends when its standard input is closed.

const { createLogger } = require('@stoplight/prism-core');
const { getHttpOperationsFromSpec } = require('@stoplight/prism-http');
const { createServer } = require('@stoplight/prism-http-server');
const deserializers = require('@stoplight/prism-http/dist/validator/deserializers');

const files = process.argv.slice(2);
const checkSecurity = files[0] !== '--without-security';
if (!checkSecurity) files.shift();

// Prism ends where a value lacks the marks of its style, or an optional header is absent: the parameter is missing there.
for (const styles of [deserializers.header, deserializers.path, deserializers.query]) {
  for (const [style, read] of Object.entries(styles)) {
    styles[style] = (...value) => {
      try {
        return read(...value);
      } catch {
        return undefined;
      }
    };
  }
}
process.on('unhandledRejection', error => console.error(error));

const say = line => process.stdout.write(JSON.stringify(line) + '\n');
const logger = createLogger('mock', { level: 'silent' });
const config = { isProxy: false, validateRequest: true, validateResponse: false, checkSecurity, errors: true, mock: { dynamic: false } };

async function serve(file) {
  const operations = await getHttpOperationsFromSpec(file);
  // Otherwise Prism answers a request that it refuses with the document's own response of status 400 or 422.
  for (const operation of operations) operation.responses = [{ id: 'accepted', code: '204', headers: [], contents: [] }];
  const server = createServer(operations, { cors: false, config, components: { logger } });
  const url = await server.listen(0, '127.0.0.1');
  say({ file, url, operations: operations.length });
}

(async () => {
  for (const file of files) {
    await serve(file).catch(error => say({ file, error: String(error.message) }));
  }
})();

process.stdin.resume();
process.stdin.on('end', () => process.exit());
