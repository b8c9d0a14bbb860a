// Serves OpenAPI documents by Prism, which refuses each request that its document does not allow: `node mock.cjs FILE ..`
//
// For each document, as soon as it is served, one line of JSON: {"file", "url", "operations"}, or {"file", "error"}. The path
// of an operation follows `url` directly, without the path of a server of the document. Status 204, without a body, means that
// the request was accepted. Each other status is a refusal: 422 names what is wrong in the list `validation` of its JSON, 415
// a media type that the document lacks, 401 missing credentials, 404 and 405 no such operation, 400 a body that is not JSON.
// Requests need the credentials that the document demands, unless `--without-security` stands before the files.
// The process ends when its standard input is closed.

const { createLogger } = require('@stoplight/prism-core');
const { getHttpOperationsFromSpec } = require('@stoplight/prism-http');
const { createServer } = require('@stoplight/prism-http-server');
const deserializers = require('@stoplight/prism-http/dist/validator/deserializers');
const { createDelimitedDeserializerStyle } = require('@stoplight/prism-http/dist/validator/deserializers/style/delimited');

const files = process.argv.slice(2);
const checkSecurity = files[0] !== '--without-security';
if (!checkSecurity) files.shift();

// Prism looks for `%20` in values that are decoded already.
deserializers.query.spaceDelimited = createDelimitedDeserializerStyle(' ');
// The style that `stateEncodings` gives to objects.
deserializers.body.json = (name, values) => JSON.parse(values[name]);

// Prism ends where a value lacks the marks of its style, or an optional header is absent: the parameter is missing there.
for (const styles of [deserializers.header, deserializers.path, deserializers.query]) {
  for (const [style, read] of Object.entries(styles)) {
    styles[style] = (name, values, ...rest) => {
      // Prism takes an absent object for one without members.
      if (style === 'deepObject' && !Object.keys(values).some(it => it.startsWith(`${name}[`))) return undefined;
      try {
        return read(name, values, ...rest);
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

// Prism reads each member of a form as a text, unless the document states an encoding: by default, a list is repeated and an
// object is JSON.
function stateEncodings({ mediaType, schema, encodings }) {
  if (!/form/.test(mediaType) || !encodings) return;
  for (const [property, { type }] of Object.entries(schema?.properties ?? {})) {
    const stated = encodings.some(it => it.property === property);
    const style = { array: 'form', object: 'json' }[type];
    if (style && !stated) encodings.push({ property, style, explode: true, allowReserved: true });
  }
}

async function serve(file) {
  const operations = await getHttpOperationsFromSpec(file);
  for (const operation of operations) {
    operation.request?.body?.contents?.forEach(stateEncodings);
    // Otherwise Prism answers a request that it refuses with the document's own response of status 400 or 422.
    operation.responses = [{ id: 'accepted', code: '204', headers: [], contents: [] }];
  }
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
