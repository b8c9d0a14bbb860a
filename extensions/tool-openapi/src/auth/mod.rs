//! Credentials: what the program gives, what the document asks for, and what a request carries.
//!
//! A [`Credential`] belongs to a security scheme of the document, and to the origins for which the program gave it. At the
//! import, each operation gets, by [`ResolvedCredentials`], the first alternative of its security requirements for which all credentials are
//! given and may be sent to its server. At a call, the [`Authorization`] of the operation issues them and adds them to the request.

mod authorization;
mod carrier;
mod credential;
mod escapes;
mod redaction;
mod resolved;
mod secret;
mod token;

pub(crate) use self::{
    authorization::{Authorization, IssuedCredentials},
    carrier::Carrier,
    resolved::{
        CredentialRemark, RequiredScheme, ResolvedCredentials, Scheme, SchemeKind, Schemes,
        SecurityRequirement,
    },
};
pub use self::{
    credential::{ClientCredentials, Credential},
    secret::Secret,
};
