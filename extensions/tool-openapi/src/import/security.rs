//! Security schemes, and the requirements of operations.

use std::collections::BTreeMap;

use reqwest::{Url, header::HeaderName};
use serde_json::Value;

use super::{ImportReport, found::FoundOperation, non_empty_text_member};
use crate::{
    auth::{
        Authorization, Carrier, CredentialRemark, RequiredScheme, ResolvedCredentials, Scheme, SchemeKind,
        Schemes, SecurityRequirement,
    },
    document::{DocumentPlace, Documents},
    request::{ParameterLocation, RequestParameter},
};

/// Headers that only the client sets.
const NOT_ALLOWED: [&str; 8] =
    ["host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "content-type", "cookie"];

/// Returns the security schemes of a document, whose URLs are relative to `base`.
pub(super) fn security_schemes(documents: &Documents, base: Option<&Url>) -> Schemes {
    let place = DocumentPlace::new(0, "/components/securitySchemes");
    let all = documents.get(&place).and_then(Value::as_object);
    let read = |(name, value): (&String, &Value)| {
        let resolved =
            documents.follow_references(place.at(name), value).map_err(|reason| reason.to_string());
        (name.clone(), resolved.and_then(|(_, value)| read_scheme(value, base)))
    };
    all.into_iter().flatten().map(read).collect()
}

/// Reads a scheme. The error is the reason why no request can carry it.
fn read_scheme(value: &Value, base: Option<&Url>) -> Result<Scheme, String> {
    let bearer = || Carrier::Http("Bearer".into());
    let (kind, carrier) = match non_empty_text_member(value, "type").unwrap_or_default() {
        "apiKey" => (SchemeKind::ApiKey, api_key_carrier(value)?),
        "http" => match non_empty_text_member(value, "scheme").unwrap_or_default() {
            it if it.eq_ignore_ascii_case("basic") => (SchemeKind::Basic, Carrier::Basic),
            it if it.eq_ignore_ascii_case("bearer") => (SchemeKind::Http, bearer()),
            it if is_http_token(it) => (SchemeKind::Http, Carrier::Http(it.into())),
            it => return Err(format!("`{it}` is not an HTTP scheme")),
        },
        "oauth2" => (SchemeKind::OAuth2, bearer()),
        "openIdConnect" => (SchemeKind::OpenIdConnect, bearer()),
        "mutualTLS" => return Err("it is a certificate of the connection, which is not supported".to_owned()),
        it => return Err(format!("the type `{it}` is unknown")),
    };
    let token_url = value.pointer("/flows/clientCredentials/tokenUrl").and_then(Value::as_str);
    let token_url = token_url.and_then(|it| match base {
        Some(base) => base.join(it).ok(),
        None => Url::parse(it).ok(),
    });
    Ok(Scheme { kind, carrier, token_url })
}

fn api_key_carrier(value: &Value) -> Result<Carrier, String> {
    let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
    match value.get("in").and_then(Value::as_str).unwrap_or_default() {
        _ if name.is_empty() => Err("it has no name".to_owned()),
        "query" => Ok(Carrier::Query(name.into())),
        "cookie" if is_http_token(name) => Ok(Carrier::Cookie(name.into())),
        "header" => match HeaderName::try_from(name) {
            Ok(header) if !NOT_ALLOWED.contains(&header.as_str()) => Ok(Carrier::Header(header)),
            _ => Err(format!("`{name}` is not a header that a program may set")),
        },
        it => Err(format!("`{name}` cannot be sent in `{it}`")),
    }
}

/// See [RFC 9110, section 5.6.2](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2).
fn is_http_token(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_allowed)
}

/// Remarks about credentials, each once for all operations that it is about.
#[derive(Default)]
pub(super) struct CredentialRemarks(BTreeMap<(&'static str, String), (String, DocumentPlace, usize)>);

impl CredentialRemarks {
    fn add_remark(&mut self, remark: CredentialRemark, tool: &str, place: &DocumentPlace) {
        let first = || (tool.to_owned(), place.clone(), 0);
        self.0.entry((remark.code, remark.clause)).or_insert_with(first).2 += 1;
    }

    pub(super) fn report_remarks(self, report: &mut ImportReport) {
        for ((code, clause), (tool, place, count)) in self.0 {
            let operation = match count {
                1 => format!("the operation `{tool}`"),
                2 => format!("the operation `{tool}`, as one other,"),
                _ => format!("the operation `{tool}`, as {} others,", count - 1),
            };
            let end = match code {
                "no_credential" | "foreign_origin" => "; it is called without",
                _ => "",
            };
            report.warn(code, &tool, &place, format!("{operation} {clause}{end}"));
        }
    }
}

/// Returns the credentials of an operation at `base`.
pub(super) fn read_authorization(
    (documents, credentials): (&Documents, &ResolvedCredentials),
    found: &FoundOperation<'_>,
    tool: &str,
    base: &Url,
    remarks: &mut CredentialRemarks,
) -> Authorization {
    let own = found.value.get("security").map(|it| (found.place.at("security"), it));
    let shared = || documents.root_value().get("security").map(|it| (DocumentPlace::new(0, "/security"), it));
    let Some((place, security)) = own.or_else(shared) else {
        return credentials.authorize_operation(&[], base).0;
    };
    let Some(requirements) =
        security.as_array().and_then(|list| list.iter().map(read_security_requirement).collect())
    else {
        let clause = "has a `security` that is not a list of objects".to_owned();
        remarks.add_remark(CredentialRemark { code: "malformed_security", clause }, tool, &place);
        return credentials.authorize_operation(&[], base).0;
    };
    let requirements: Vec<SecurityRequirement> = requirements;
    let (authorization, all) = credentials.authorize_operation(&requirements, base);
    all.into_iter().for_each(|remark| remarks.add_remark(remark, tool, &place));
    authorization
}

fn read_security_requirement(value: &Value) -> Option<SecurityRequirement> {
    let required = |(scheme, scopes): (&String, &Value)| {
        let scopes: Vec<_> = scopes.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        RequiredScheme { scheme: scheme.clone(), scopes: scopes.join(" ") }
    };
    Some(value.as_object()?.iter().map(required).collect())
}

/// Notes parameters whose place in the request a credential takes.
pub(super) fn note_replaced_parameters(
    parameters: &[RequestParameter],
    authorization: &Authorization,
    place: &DocumentPlace,
    tool: &str,
    report: &mut ImportReport,
) {
    for parameter in parameters {
        let is_taken = authorization.credential_carriers().any(|carrier| match carrier {
            Carrier::Header(name) => {
                parameter.location == ParameterLocation::Header
                    && name.as_str().eq_ignore_ascii_case(&parameter.name)
            }
            Carrier::Query(name) => parameter.location == ParameterLocation::Query && *name == parameter.name,
            Carrier::Cookie(name) => {
                parameter.location == ParameterLocation::Cookie && *name == parameter.name
            }
            Carrier::Basic | Carrier::Http(_) => false,
        });
        if is_taken {
            let message =
                format!("the credential is sent in place of the parameter `{}`", parameter.property);
            report.note("parameter_replaced", tool, place, message);
        }
    }
}
