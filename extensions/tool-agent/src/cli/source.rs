//! The model of a conversation: of a provider or of a script, recorded or not.

use std::io;

use tool_cli::{Exit, Failure};

use crate::{
    HttpModel, Model as _, ScriptedModel,
    model::{RecordingModel, SharedModel},
};

pub(super) struct ModelSource {
    pub(super) model: SharedModel,
    /// The model as the command line names it.
    pub(super) label: String,
    pub(super) recording: Option<RecordingModel>,
}

impl ModelSource {
    /// Creates the model that the options choose.
    pub(super) fn from_options<'m>(
        default: Option<&'m str>,
        option: impl Fn(&str) -> Option<&'m str>,
    ) -> Result<Self, Failure> {
        let (model, label): (SharedModel, _) = match option("script") {
            Some(path) => (scripted_model(path)?.into(), format!("script {path}")),
            None => {
                let name = option("model").or(default).ok_or_else(|| {
                    Failure::usage(
                        "`--model` is missing; give a provider and a name, such as `--model \
                         anthropic:claude-sonnet-4-5`, or `--script FILE`",
                    )
                })?;
                (http_model(name, option("base-url"))?.into(), name.to_owned())
            }
        };
        let Some(path) = option("record") else { return Ok(Self { model, label, recording: None }) };
        let recording = RecordingModel::create(model, path).map_err(|error| {
            let message = match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    format!("the file `{path}` exists; give `--record` a new file")
                }
                _ => format!("the file `{path}` cannot be created: {error}"),
            };
            Failure::quoting(Exit::Usage, message)
        })?;
        Ok(Self { model: recording.clone().into(), label, recording: Some(recording) })
    }
}

fn scripted_model(path: &str) -> Result<ScriptedModel, Failure> {
    ScriptedModel::from_file(path).map_err(|error| {
        let advice = match error.line() {
            Some(_) => "correct the line",
            None => "give `--script` a file that `--record` wrote",
        };
        Failure::quoting(Exit::Usage, format!("{error}; {advice}"))
    })
}

fn http_model(name: &str, base_url: Option<&str>) -> Result<HttpModel, Failure> {
    let mut model = HttpModel::from_text(name)
        .map_err(|error| Failure::quoting(Exit::Usage, format!("`--model`: {error}")))?;
    if let Some(url) = base_url {
        if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
            let message =
                format!("`--base-url`: expected a URL that begins with `http://` or `https://`, got `{url}`");
            return Err(Failure::quoting(Exit::Usage, message));
        }
        model = model.with_base_url(url);
    }
    match model.missing_key_variable() {
        None => Ok(model),
        Some(variable) => Err(Failure::quoting(
            Exit::Usage,
            format!(
                "there is no key for {} `{}`; set the environment variable `{variable}`, or give `--base-url` for a \
                 server that needs no key",
                model.provider(),
                model.name(),
            ),
        )),
    }
}
