//! The whole messages of mistakes: credentials of the program, and values of a model that have no place in a request.

use serde_json::{Value, json};
use test_support::http::{Answer, Recorder};
use tool_openapi::{
    ClientCredentials, Credential, Document, FileContent, OpenApiErrorKind, OpenApiToolSet,
    OpenApiToolSetBuilder,
};

use crate::{
    built, call,
    credentials::{api_key, secured},
    document,
};

/// The error of a builder, which is about the settings.
fn mistake(builder: OpenApiToolSetBuilder) -> String {
    let error = builder.build().expect_err("a mistake of the program");
    assert_eq!(error.kind(), OpenApiErrorKind::Config);
    error.to_string()
}

fn client() -> ClientCredentials {
    ClientCredentials::new("id", "hunter2")
}

#[test]
fn a_credential_that_does_not_fit_its_scheme_is_a_mistake() {
    let token_url = "https://user:hunter2@login.example/token";
    let schemes = json!({
        "app": { "type": "oauth2", "flows": { "clientCredentials": { "tokenUrl": token_url } } },
        "basic": { "type": "http", "scheme": "basic" },
        "key": api_key("header", "X-Key"),
        "open": { "type": "openIdConnect" },
    });
    let of_client = |client: ClientCredentials| Credential::client_credentials(client);
    let origin = "has an origin that is not valid: it is not a URL (relative URL without a base); expected an origin such as \
                  `https://api.example.com`, without user, path, query and fragment";
    let elsewhere = "is not given for the origin of the token endpoint of the document; add \
                     `.token_url(\"https://login.example/token\")` if that server may receive it";
    let of_no_user = "has a token URL that is not an `http` or `https` URL without a user";
    for (scheme, credential, problem) in [
        (
            "key",
            Credential::basic("user", "hunter2"),
            "is a user with a password, which is not for this scheme; use `Credential::secret`",
        ),
        ("key", of_client(client()), "is a client of OAuth 2, which is not for this scheme"),
        ("basic", of_client(client()), "is a client of OAuth 2, which is not for this scheme"),
        ("basic", Credential::secret("hunter2"), "is not a user and a password; use `basic`"),
        (
            "basic",
            Credential::basic("us:er", "hunter2"),
            "has a user name with `:`, which separates it from the password",
        ),
        ("key", Credential::secret(""), "is empty"),
        ("key", Credential::secret("hunter2").for_origin("hunter2"), origin),
        (
            "app",
            of_client(client().token_url("hunter2")),
            "has a token URL that is not a URL: relative URL without a base",
        ),
        ("app", of_client(client().token_url("https://hunter2@login.example")), of_no_user),
        ("app", of_client(client().token_url("ftp://login.example")), of_no_user),
        (
            "open",
            of_client(client()),
            "has no token endpoint, and neither has the scheme; set `ClientCredentials::token_url`",
        ),
        ("app", of_client(client()), elsewhere),
        ("app", of_client(client()).for_origin("https://login.example"), elsewhere),
    ] {
        let builder =
            OpenApiToolSet::builder(secured(schemes.clone(), json!([]))).base_url("https://a.example");
        let error = mistake(builder.credential(scheme, credential));
        assert_eq!(error, format!("the credential for `{scheme}` {problem}")); // E10
    }
    let builder =
        || OpenApiToolSet::builder(secured(schemes.clone(), json!([]))).base_url("https://a.example");
    let key = || Credential::secret("hunter2");
    assert_eq!(
        mistake(builder().credential("key", key()).credential("key", key().for_origin("https://a.example"))),
        "there are two credentials for `key` and one origin"
    );
    assert_eq!(
        mistake(builder().credential("none", key())),
        "a credential is given for `none`, but the security schemes of the document are `app`, `basic`, `key`, `open`"
    );
    // One of another origin is no second one.
    built(builder().credential("key", key()).credential("key", key().for_origin("https://b.example")));
}

#[test]
fn a_credential_for_no_origin_is_answered_with_the_most_common_one() {
    let given = |servers: [Value; 3]| {
        let operation = |server: &Value| json!({ "get": { "servers": [{ "url": server }] } });
        let paths = json!({ "/a": operation(&servers[0]), "/b": operation(&servers[1]), "/c": operation(&servers[2]) });
        let schemes = json!({ "securitySchemes": { "key": api_key("header", "X-Key") } });
        let document = document(paths, json!({ "components": schemes }));
        mistake(OpenApiToolSet::builder(document).credential("key", Credential::secret("hunter2")))
    };
    let (one, other) = (json!("https://a.example/v1"), json!("https://b.example"));
    for (servers, expected) in [
        ([one.clone(), other.clone(), other.clone()], "https://b.example"),
        ([one.clone(), other, one], "https://a.example"),
    ] {
        let hint = format!("`.for_origin(\"{expected}\")` if that server may receive it, or `base_url`");
        assert_eq!(given(servers), format!("the credential for `key` is given for no origin; add {hint}"));
    }
}

/// The error of a call whose parameter `p` has the value.
async fn refused(path: &str, location: &str, others: Value, value: &Value) -> String {
    let mut parameter = json!({ "name": "p", "in": location, "required": true, "schema": {} });
    parameter.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
    let name = parameter["name"].as_str().unwrap().to_owned();
    let paths = json!({ path: { "get": { "operationId": "get", "parameters": [parameter] } } });
    let server = Recorder::new(Answer::json("{}")).await;
    let set = built(OpenApiToolSet::builder(document(paths, json!({}))).base_url(&server.url));
    let error = call(&set, "get", &json!({ name: value }).to_string()).await.unwrap_err();
    assert!(server.take().is_empty(), "{error}");
    error.reason().into_owned()
}

#[tokio::test]
async fn a_value_without_a_place_in_its_parameter_is_refused() {
    let none = json!({});
    let exploded = json!({ "explode": true });
    let deep = json!({ "style": "deepObject" });
    let cookie = json!({ "style": "cookie" });
    let control = json!({ "name": "a\u{7}", "style": "cookie" });
    let (label, matrix) = (json!({ "style": "label" }), json!({ "style": "matrix" }));
    let empty = "is empty, which would be the path of another resource";
    let cookie_value = "has a value with white space, a quote, `,`, `;`, `\\` or a character beyond ASCII, which a cookie cannot have";
    let blanks = "begins or ends with white space, which HTTP removes from headers";
    let items = "has an item with `,`, which separates the items in a header";
    let members = "has a name with `,` or `=`, which separate the members in a header";
    for (location, others, value, problem) in [
        ("header", &none, json!(["a", "b,c"]), items),
        ("header", &none, json!({ "a": "b,c" }), items),
        ("header", &none, json!({ "a,b": 1 }), items),
        ("header", &exploded, json!({ "a=b": 1 }), members),
        ("header", &exploded, json!({ "a,b": 1 }), members),
        ("header", &exploded, json!({ "a": "b,c" }), items),
        ("header", &none, json!(" a"), blanks),
        ("header", &none, json!("a\t"), blanks),
        (
            "header",
            &none,
            json!("a\nb"),
            "has a value with characters that no header may have, such as a line break",
        ),
        ("path", &none, json!(""), empty),
        ("path", &none, json!([]), empty),
        ("path", &none, json!({}), empty),
        ("path", &label, json!([]), empty),
        ("path", &label, json!({}), empty),
        ("path", &matrix, json!([]), empty),
        ("path", &matrix, json!({}), empty),
        ("path", &none, json!(null), "has no value"),
        (
            "query",
            &deep,
            json!({ "a": { "b]": 1 } }),
            "has the member `b]`, and brackets separate the names of members",
        ),
        (
            "query",
            &deep,
            json!({ "a[": 1 }),
            "has the member `a[`, and brackets separate the names of members",
        ),
        ("cookie", &cookie, json!("a b"), cookie_value),
        ("cookie", &cookie, json!("é"), cookie_value),
        ("cookie", &cookie, json!(["a;b"]), cookie_value),
        ("cookie", &cookie, json!({ "a b": 1 }), cookie_value),
        ("cookie", &cookie, json!({ "a=b": 1 }), "has the name `a=b`, and `=` ends the name of a cookie"),
    ] {
        let path = if location == "path" { "/a/{p}" } else { "/a" };
        let error = refused(path, location, others.clone(), &value).await;
        assert_eq!(error, format!("the parameter `p` in {location} {problem}"), "{value}");
    }
    for (path, location, others, value, expected) in [
        (
            "/{p}",
            "path",
            &none,
            json!(".."),
            "the path `/..` is the path of another resource; no segment may be `.` or `..`",
        ),
        ("/a", "cookie", &control, json!("b"), "a cookie has characters that no header may have"),
        (
            "/a",
            "header",
            &json!({ "name": "x y" }),
            json!("b"),
            "the parameter `x y` in header is no name of a header",
        ),
    ] {
        assert_eq!(refused(path, location, others.clone(), &value).await, expected, "{value}");
    }
}

#[tokio::test]
async fn a_file_whose_media_type_is_none_is_refused() {
    let binary = json!({ "type": "string", "format": "binary" });
    let form = json!({ "type": "object", "properties": { "f": binary } });
    for (media_type, schema, body, expected) in [
        (
            "multipart/form-data",
            form,
            json!({ "f": "a" }),
            "the property `f` of the request body has the media type `a\\u{7}`, which is none",
        ),
        ("image/*", binary.clone(), json!("a"), "`a\\u{7}` is not a media type"),
    ] {
        let content = json!({ media_type: { "schema": schema } });
        let operation = json!({ "operationId": "post", "requestBody": { "content": content } });
        let document = document(json!({ "/a": { "post": operation } }), json!({}));
        let builder = OpenApiToolSet::builder(document).base_url("http://127.0.0.1:1");
        let set = built(builder.files(|_: String, _: tool_runtime::ToolContext| async {
            Ok(FileContent::new(*b"a").with_media_type("a\u{7}"))
        }));
        let error = call(&set, "post", &json!({ "body": body }).to_string()).await.unwrap_err();
        assert_eq!(error.reason(), expected);
    }
}

#[tokio::test]
async fn a_document_that_is_no_text_is_malformed() {
    let server = Recorder::new(Answer::of(200, "application/json", vec![b'{', 0xff])).await;
    let fetch = tool_openapi::Fetch::new(format!("{}/openapi", server.url)).allow_private();
    let error = Document::fetch(fetch).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string()),
        (OpenApiErrorKind::Malformed, "the document is not UTF-8".into())
    );
}

#[tokio::test]
async fn bytes_that_repeat_a_credential_are_not_shown() {
    for (bytes, is_shown) in [(&b"\xffhunter2hunter2"[..], false), (b"\xffhunter", true)] {
        let server = Recorder::new(Answer::of(200, "image/png", bytes.to_vec())).await;
        let schemes = json!({ "key": api_key("header", "X-Key") });
        let builder = OpenApiToolSet::builder(secured(schemes, json!([{ "key": [] }]))).base_url(&server.url);
        let set = built(builder.credential("key", Credential::secret("hunter2")));
        let output = call(&set, "list", "{}").await.unwrap();
        let text = output.text().replace(&server.url, "URL");
        let head = "GET URL/pets\n200 OK";
        let note = "\n[the response repeats a credential of the request, and is not shown]";
        let expected = if is_shown { head.to_owned() } else { format!("{head}{note}") };
        assert_eq!((text, output.content().len()), (expected, if is_shown { 2 } else { 1 })); // E10
    }
}
