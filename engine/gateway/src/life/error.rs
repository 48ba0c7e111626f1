//! Error of a change to a gateway. Nothing was changed.

use crate::inspect::Refused;
use switchyard_core::limits::GATEWAY_REASON_CHARACTERS;
use switchyard_store::{CommitError, StoreError};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LifeError {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(
        "{name} {version} ({sha256}) waits for consent: look at its hosts and methods, then say yes to this hash, or pin it"
    )]
    NoConsent {
        name: String,
        version: String,
        sha256: String,
    },
    #[error(
        "the file has the hash {found}, and consent was given for {asked}: look at this file before you say yes to it"
    )]
    OtherFile { asked: String, found: String },
    #[error("{0}: a hash is 64 hexadecimal characters, as `sha256sum` prints them")]
    NotAHash(String),
    #[error("{host} is not among the hosts of this gateway's manifest: only those can be granted")]
    HostNotListed { host: String },
    #[error("there is no gateway `{0}`: `switchyard gateway list` shows those that there are")]
    NotFound(String),
    #[error(
        "{name} has no version {sha256}: `switchyard gateway show {name}` shows those that it has"
    )]
    NoSuchVersion { name: String, sha256: String },
    #[error("{sha256} is the beginning of more than one version's hash of {name}: give more of it")]
    ManyVersions { name: String, sha256: String },
    #[error(
        "{0} has no earlier version to go back to: `switchyard gateway show {0}` shows its versions, and --to takes any of them"
    )]
    NoEarlier(String),
    #[error("{name} is at that version already")]
    AlreadyThere { name: String },
    #[error(
        "that version of {name} is in quarantine ({reason}): bring it back first with `switchyard gateway restore {name} --of {sha256}`"
    )]
    InQuarantine {
        name: String,
        sha256: String,
        reason: String,
    },
    #[error("{0} was removed: `switchyard gateway restore {0}` offers it again")]
    WasRemoved(String),
    #[error(
        "no file with the hash {0} waits in the folder: `switchyard gateway list` shows those that do"
    )]
    NotWaiting(String),
    #[error(
        "{name} {version} ({sha256}) waits for the approval of a second operator, and the version \
         before it serves: `switchyard gateway show {name}` shows what it would widen"
    )]
    AwaitsApproval {
        name: String,
        version: String,
        sha256: String,
    },
    #[error(
        "another version of {name} is in use since {sha256} was added, and beside it this one would \
         widen more: nothing was approved, so look again with `switchyard gateway show {name}` and \
         approve once more if you agree"
    )]
    WidensMore { name: String, sha256: String },
    #[error(
        "{name} has no version {sha256} that waits for approval: give its whole SHA-256, as \
         `switchyard gateway show {name}` shows it"
    )]
    NothingToApprove { name: String, sha256: String },
    #[error(
        "whoever uploaded {name} {sha256} or consented to it may have this token, too, so it \
         cannot approve it. If tokens did both, approve it with a token of another origin (each \
         entry of operator.tokens in the settings file is an origin, and the tokens made with it \
         share it). If a user of the console took part, whom any token may have invited, reject it \
         and upload it with a token; or add the hash to gateways.pinned in the settings file and \
         restart"
    )]
    NotIndependent { name: String, sha256: String },
    #[error(
        "that version of {name} may call more hosts than the one in use, or comes from a less \
         trusted source: add its file again, so that a second operator can approve it, or add \
         {sha256} to gateways.pinned in the settings file, restart, and add its file"
    )]
    WiderThanCurrent { name: String, sha256: String },
    #[error("a reason is one line of at most {GATEWAY_REASON_CHARACTERS} characters")]
    BadReason,
    #[error(
        "the upload could not be kept ({0}): the data folder needs room and has to be writable"
    )]
    Upload(#[source] std::io::Error),
    #[error("the record of {name} is not readable")]
    Row {
        name: String,
        #[source]
        why: serde_json::Error,
    },
    #[error("the records of gateways could not be read")]
    Read(#[source] StoreError),
    #[error("the change could not be stored")]
    Write(#[source] CommitError),
    #[error("the engine is stopping")]
    Stopping,
}
