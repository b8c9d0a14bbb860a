//! Request bodies.

use reqwest::{
    Request,
    header::{CONTENT_TYPE, HeaderValue},
};
use serde_json::value::RawValue;
use tool_runtime::ToolError;

use super::{
    file::FileSource,
    form::{self, FormFields},
    multipart,
};

/// A request body, and the property that has its value.
#[derive(Debug)]
pub(crate) struct RequestBody {
    pub(crate) property: Box<str>,
    pub(crate) media_type: Box<str>,
    pub(crate) form: BodyForm,
}

/// The form of a request body.
#[derive(Debug, Clone)]
pub(crate) enum BodyForm {
    Json,
    /// `application/x-www-form-urlencoded`
    Form(FormFields),
    /// `multipart/form-data`
    Multipart(FormFields),
    /// A string as it is, any other value as JSON.
    Text,
    /// A file.
    Binary,
}

impl RequestBody {
    pub(super) async fn set_request_body(
        &self,
        request: &mut Request,
        value: &RawValue,
        files: FileSource<'_>,
    ) -> Result<(), ToolError> {
        let unfit = |problem: String| ToolError::bad_parameter(format!("the request body {problem}"));
        let mut media_type = self.media_type.to_string();
        let bytes = match &self.form {
            BodyForm::Json => value.get().as_bytes().to_vec(),
            BodyForm::Form(fields) => {
                let pairs = fields.form_pairs(value).map_err(unfit)?;
                let mut form = String::new();
                pairs.iter().for_each(|it| it.append_to_query(&mut form));
                form.into_bytes()
            }
            BodyForm::Multipart(fields) => {
                let parts = multipart::form_parts(fields, value, files).await?;
                let (boundary, bytes) = multipart::join_parts(&parts);
                media_type = format!("{media_type}; boundary={boundary}");
                bytes
            }
            BodyForm::Text => {
                if media_type.starts_with("text/") && !media_type.contains("charset") {
                    media_type.push_str("; charset=utf-8");
                }
                form::part_text(value).map_err(unfit)?.into_bytes()
            }
            BodyForm::Binary => {
                let text = form::part_text(value).map_err(unfit)?;
                let file = files.decode_or_resolve_file(&text, "the request body").await?;
                if media_type.contains('*') {
                    media_type = file.media_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                }
                file.bytes
            }
        };
        let media_type = HeaderValue::try_from(&media_type)
            .map_err(|_| ToolError::failed(format!("`{}` is not a media type", media_type.escape_debug())))?;
        request.headers_mut().insert(CONTENT_TYPE, media_type);
        *request.body_mut() = Some(bytes.into());
        Ok(())
    }
}
