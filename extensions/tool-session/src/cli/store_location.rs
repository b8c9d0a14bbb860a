//! The option `--store`: its URL, its default, and the store.

use std::{
    fmt,
    path::{Path, PathBuf, absolute},
};

use etcetera::BaseStrategy as _;
use tool_cli::{Exit, Failure, Program, clap::Arg};

#[cfg(feature = "postgres")]
use crate::{PostgresOptions, PostgresStore};
use crate::{SessionError, SharedSessionStore, SqliteOptions, SqliteStore};

/// The store that the option `--store` of a command names.
///
/// # Examples
///
/// ```
/// use tool_cli::{Cli, Command, Exit, Failure, Program, clap};
/// use tool_session::cli::StoreLocation;
///
/// /// Counts sessions.
/// struct Count;
///
/// impl Command for Count {
///     fn grammar(&self) -> clap::Command {
///         clap::Command::new("count").arg(StoreLocation::option("program"))
///     }
///
///     fn run(&self, program: &Program, matches: &clap::ArgMatches) -> Result<Exit, Failure> {
///         let url = matches.get_one::<String>("store").map(String::as_str);
///         let location = StoreLocation::new(program, url)?;
///         program.print(&format!("{location}\n"))?;
///         Ok(Exit::Done)
///     }
/// }
///
/// assert_eq!(Cli::new().command(Count).run(["program", "count", "--store", "sqlite:a.db"]), Exit::Done);
/// ```
#[derive(Clone)]
pub struct StoreLocation {
    address: StoreAddress,
    /// The file of the key of the program.
    key_file: PathBuf,
    is_default: bool,
}

#[derive(Clone)]
enum StoreAddress {
    File(PathBuf),
    #[cfg(feature = "postgres")]
    Postgres(Box<PostgresOptions>),
}

const URL_FORMS: &str = "`sqlite:PATH` or `postgres://user@host/database`";

impl StoreLocation {
    /// Returns the option `--store`, whose help names the default of the program `name`.
    #[must_use]
    pub fn option(name: &str) -> Arg {
        let default = match default_database_file(name) {
            Ok(path) => format!(" [default: sqlite:{}]", path.display()),
            Err(_) => String::new(),
        };
        let help = format!(
            "The store: sqlite:PATH, postgres://user@host/database, or env:NAME for a URL in a variable{default}"
        );
        Arg::new("store").long("store").value_name("URL").help(help)
    }

    /// Reads the URL of a store: `sqlite:PATH`, `postgres://..`, or a source of one as for
    /// [`Program::read_secret`]. Default: the file in the user's data folder.
    ///
    /// # Errors
    ///
    /// If the URL has another form or contains a password, if the program is compiled without the database, and if the user has no data
    /// folder. The exit code is 2.
    pub fn new(program: &Program, url: Option<&str>) -> Result<Self, Failure> {
        match url {
            None => {
                let path = default_database_file(program.name())?;
                Ok(Self {
                    key_file: key_file_beside(&path),
                    address: StoreAddress::File(path),
                    is_default: true,
                })
            }
            Some(source) if source.starts_with("env:") || source.starts_with('@') => {
                Self::from_url(program, &program.read_secret("store", source)?)
            }
            Some(url) if url_has_password(url) => Err(Failure::usage(
                "`--store` contains a password, which other programs of the machine can read on the command line; give the URL by \
                 `--store env:NAME`, or the password by PGPASSFILE",
            )),
            Some(url) => Self::from_url(program, url),
        }
    }

    fn from_url(program: &Program, url: &str) -> Result<Self, Failure> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() {
                return Err(Failure::usage("`--store`: the path of `sqlite:PATH` is missing"));
            }
            // An absolute path is none of the names with a meaning for SQLite, such as `:memory:`.
            let path = absolute(path).map_err(|error| {
                Failure::quoting(Exit::Usage, format!("`--store`: the path `{path}` is not valid: {error}"))
            })?;
            return Ok(Self {
                key_file: key_file_beside(&path),
                address: StoreAddress::File(path),
                is_default: false,
            });
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Self::of_postgres(program, url);
        }
        // What has no form may be a URL with a password.
        let text = if url_has_password(url) { String::new() } else { format!(", got `{url}`") };
        Err(Failure::quoting(Exit::Usage, format!("`--store`: expected {URL_FORMS}{text}")))
    }

    #[cfg(feature = "postgres")]
    fn of_postgres(program: &Program, url: &str) -> Result<Self, Failure> {
        let options = PostgresOptions::new(url)
            .map_err(|error| Failure::quoting(Exit::Usage, format!("`--store`: {error}")))?;
        let key_file = key_file_beside(&default_database_file(program.name())?.with_file_name("postgres"));
        Ok(Self { address: StoreAddress::Postgres(Box::new(options)), key_file, is_default: false })
    }

    #[cfg(not(feature = "postgres"))]
    fn of_postgres(_: &Program, _: &str) -> Result<Self, Failure> {
        Err(Failure::usage(
            "`--store`: the program is compiled without Postgres; enable the feature `postgres` of `tool-session`, or give \
             `sqlite:PATH`",
        ))
    }

    /// Returns the path of the file with the key of the program: beside the file of the database, with `.key` added to its name; for a
    /// database of a server, `postgres.key` in the data folder of the program.
    #[must_use]
    pub fn key_file(&self) -> &Path {
        &self.key_file
    }

    /// Returns `false` if the store is a file that does not exist.
    pub(super) fn may_exist(&self) -> bool {
        match &self.address {
            StoreAddress::File(path) => path.exists(),
            #[cfg(feature = "postgres")]
            StoreAddress::Postgres(_) => true,
        }
    }

    /// Returns `true` if no option named the store.
    pub(super) fn is_default(&self) -> bool {
        self.is_default
    }

    /// Opens the store, which is made if it does not exist, and migrated if it has an older version.
    ///
    /// # Errors
    ///
    /// If the store cannot be opened. The exit code is 2.
    pub fn open(&self, program: &Program) -> Result<StoreConnection, Failure> {
        let opened = program.block_on(async {
            match &self.address {
                StoreAddress::File(path) => SqliteOptions::new(path).open().await.map(Database::Sqlite),
                #[cfg(feature = "postgres")]
                StoreAddress::Postgres(options) => {
                    PostgresOptions::clone(options).open().await.map(Database::Postgres)
                }
            }
        })?;
        let database = opened.map_err(|error| self.open_failure(&error))?;
        let sessions = match &database {
            Database::Sqlite(store) => SharedSessionStore::new(store.clone()),
            #[cfg(feature = "postgres")]
            Database::Postgres(store) => SharedSessionStore::new(store.clone()),
        };
        Ok(StoreConnection { sessions, database })
    }

    fn open_failure(&self, error: &SessionError) -> Failure {
        Failure::quoting(Exit::Usage, format!("the store {self} cannot be opened: {error}"))
    }
}

/// Formats as a URL without a password.
impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            StoreAddress::File(path) => write!(f, "sqlite:{}", path.display()),
            #[cfg(feature = "postgres")]
            StoreAddress::Postgres(options) => write!(f, "{options}"),
        }
    }
}

impl fmt::Debug for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreLocation").field(&format_args!("{self}")).finish()
    }
}

/// An open store of a command.
pub struct StoreConnection {
    sessions: SharedSessionStore,
    database: Database,
}

enum Database {
    Sqlite(SqliteStore),
    #[cfg(feature = "postgres")]
    Postgres(PostgresStore),
}

impl StoreConnection {
    /// Returns the store.
    #[must_use]
    pub fn sessions(&self) -> &SharedSessionStore {
        &self.sessions
    }

    /// Closes the store after all writes that wait.
    pub async fn close(self) {
        match self.database {
            Database::Sqlite(store) => store.close().await,
            #[cfg(feature = "postgres")]
            Database::Postgres(store) => store.close().await,
        }
    }
}

impl fmt::Debug for StoreConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreConnection").finish_non_exhaustive()
    }
}

/// Returns the path of the default file of the program `program_name`.
fn default_database_file(program_name: &str) -> Result<PathBuf, Failure> {
    let folders = etcetera::choose_base_strategy().map_err(|error| {
        Failure::quoting(
            Exit::Usage,
            format!("the data folder of the user is unknown: {error}; name a store by `--store sqlite:PATH`"),
        )
    })?;
    Ok(folders.data_dir().join(program_name).join("sessions.sqlite"))
}

fn key_file_beside(database: &Path) -> PathBuf {
    let mut name = database.file_name().unwrap_or_default().to_owned();
    name.push(".key");
    database.with_file_name(name)
}

/// Returns `true` if a URL has a password, as `user:password@` or as a parameter.
fn url_has_password(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    if scheme == "sqlite" {
        return false;
    }
    let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    // A password may have a slash.
    let user = rest.rsplit_once('@').map(|(user, _)| user).unwrap_or_default();
    user.contains(':') || parameters.split('&').any(|it| it.to_ascii_lowercase().starts_with("password="))
}

#[cfg(test)]
mod tests {
    use super::url_has_password;

    #[test]
    fn a_password_is_recognized_wherever_it_stands() {
        for url in [
            "postgres://app:secret@db/agents",
            "postgres://app:se/cret@db/agents",
            "postgresql://app:secret@db:5432/agents?sslmode=require",
            "postgres://app@db/agents?password=secret",
            "postgres://app@db/agents?sslmode=require&Password=secret",
            "mysql://app:secret@db/agents",
        ] {
            assert!(url_has_password(url), "{url}");
        }
        for url in
            ["postgres://app@db:5432/agents", "postgres:///agents", "sqlite:a:b@c", "sqlite://a:b@c", "a:b@c"]
        {
            assert!(!url_has_password(url), "{url}");
        }
    }
}
