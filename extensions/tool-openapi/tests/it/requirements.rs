//! The exact remarks about requirements of operations, and about schemes that no credential can be given for.

use serde_json::{Value, json};
use tool_openapi::{Credential, OpenApiToolSet};

use crate::{
    built,
    credentials::{api_key, secured},
    document,
};

/// The reason why no credential can be given for a scheme.
fn unusable(scheme: &Value) -> String {
    let document = secured(json!({ "it": scheme }), json!([]));
    let builder = OpenApiToolSet::builder(document).base_url("https://h");
    let error = builder.credential("it", Credential::secret("secret")).build().unwrap_err().to_string();
    error.strip_prefix("no credential can be given for `it`: ").unwrap_or(&error).to_owned()
}

#[test]
fn a_scheme_that_no_credential_can_be_given_for_has_a_reason() {
    for (scheme, reason) in [
        (json!({ "type": "apiKey", "in": "header" }), "it has no name"),
        (api_key("query", ""), "it has no name"),
        (api_key("header", "Cookie"), "`Cookie` is not a header that a program may set"),
        (api_key("header", "TE"), "`TE` is not a header that a program may set"),
        (api_key("header", "a b"), "`a b` is not a header that a program may set"),
        (api_key("cookie", "a b"), "`a b` cannot be sent in `cookie`"),
        (api_key("cookie", "é"), "`é` cannot be sent in `cookie`"),
        (api_key("body", "key"), "`key` cannot be sent in `body`"),
        (json!({ "type": "apiKey", "name": "key" }), "`key` cannot be sent in ``"),
        (json!({ "type": "http" }), "`` is not an HTTP scheme"),
        (json!({ "type": "http", "scheme": "a b" }), "`a b` is not an HTTP scheme"),
        (json!({ "type": "mutualTLS" }), "it is a certificate of the connection, which is not supported"),
        (json!({ "type": "other" }), "the type `other` is unknown"),
        (json!({}), "the type `` is unknown"),
        (
            json!({ "$ref": "#/components/securitySchemes/none" }),
            "the reference `#/components/securitySchemes/none` leads to nothing",
        ),
    ] {
        assert_eq!(unusable(&scheme), reason, "{scheme}"); // P09
    }
    let none = OpenApiToolSet::builder(document(json!({}), json!({}))).base_url("https://h");
    let error = none.credential("it", Credential::secret("secret")).build().unwrap_err();
    let reason = "a credential is given for `it`, but the document has no security schemes";
    assert_eq!(error.to_string(), reason);
}

/// The remarks of `count` operations with this requirement, of which credentials for the schemes `given` exist.
fn remarks(count: usize, security: &Value, given: &[&str]) -> Vec<String> {
    let operations =
        (0..count).map(|at| (format!("/{at}"), json!({ "get": { "operationId": format!("op{at}") } })));
    let schemes = json!({
        "a": api_key("header", "A"), "b": api_key("query", "b"), "same": api_key("header", "a"),
        "tls": { "type": "mutualTLS" },
    });
    let others = json!({ "components": { "securitySchemes": schemes }, "security": security });
    let paths = operations.collect::<serde_json::Map<_, _>>().into();
    let builder = OpenApiToolSet::builder(document(paths, others)).base_url("https://h.example");
    let set = built(given.iter().fold(builder, |it, name| {
        let elsewhere = Credential::secret("secret").for_origin("https://other.example");
        match name.strip_suffix('!') {
            Some(name) => it.credential(name, elsewhere),
            None => it.credential(*name, Credential::secret("secret")),
        }
    }));
    let all = set.diagnostics().iter();
    all.map(|it| format!("{} {} {}: {}", it.severity, it.code, it.location.pointer, it.message)).collect()
}

#[test]
fn operations_with_one_remark_are_counted() {
    let requires = "requires a credential for `a`, and none is given; it is called without";
    for (count, operations) in [
        (1, "the operation `op0`"),
        (2, "the operation `op0`, as one other,"),
        (3, "the operation `op0`, as 2 others,"),
    ] {
        let expected = format!("warning no_credential /security: {operations} {requires}");
        assert_eq!(remarks(count, &json!([{ "a": [] }]), &[]), [expected]);
    }
}

#[test]
fn each_alternative_that_cannot_be_used_has_a_remark() {
    let unknown = "warning unknown_scheme /security: the operation `op0` names the security scheme `none`, \
                   which the document does not have";
    let unsupported = "warning unsupported_scheme /security: the operation `op0` requires `tls`, for which no \
                       credential can be sent: it is a certificate of the connection, which is not supported";
    let conflict = "warning unsupported_scheme /security: the operation `op0` requires `same` in a place of \
                    the request that another scheme takes";
    let missing = |names: &str| {
        format!(
            "warning no_credential /security: the operation `op0` requires a credential for {names}, and none \
             is given; it is called without"
        )
    };
    let foreign = |names: &str| {
        format!(
            "warning foreign_origin /security: the operation `op0` is at `https://h.example`, and the \
             credential for {names} is given for other origins; it is called without"
        )
    };
    let malformed = "warning malformed_security /security: the operation `op0` has a `security` that is not a \
                     list of objects";
    let unused = |name: &str| format!("the credential for `{name}` is sent with no operation");
    for (security, given, expected) in [
        (json!([]), &[][..], vec![]),
        (json!([{}]), &[], vec![]),
        (json!([{ "a": [] }, {}]), &[], vec![]),
        (json!([{ "a": [] }]), &["a"], vec![]),
        (json!([{ "a": [], "b": [] }]), &[], vec![missing("`a` with `b`")]),
        (json!([{ "a": [] }, { "b": [] }]), &[], vec![missing("`a`, or for `b`")]),
        (json!([{ "none": [] }]), &[], vec![unknown.to_owned()]),
        (json!([{ "tls": [] }]), &[], vec![unsupported.to_owned()]),
        (json!([{ "a": [], "same": [] }]), &[], vec![conflict.to_owned()]),
        (json!([{ "none": [] }, { "a": [] }]), &[], vec![missing("`a`"), unknown.to_owned()]),
        (json!([{ "a": [] }]), &["a!"], vec![foreign("`a`"), unused("a")]),
        (json!([{ "b": [] }, { "a": [] }]), &["a!"], vec![foreign("`a`"), unused("a")]),
        (json!([{ "a": [], "b": [] }]), &["a!"], vec![missing("`a` with `b`"), unused("a")]),
        (json!({ "a": [] }), &[], vec![malformed.to_owned()]),
        (json!([["a"]]), &[], vec![malformed.to_owned()]),
    ] {
        let seen = remarks(1, &security, given);
        assert_eq!(seen.len(), expected.len(), "{security} {given:?}: {seen:?}");
        for (seen, expected) in seen.iter().zip(&expected) {
            assert!(seen.ends_with(expected.as_str()), "{security} {given:?}: {seen}"); // P09
        }
    }
}
