//! A gateway's file from a request, as it is: written to the data folder part by part.

use std::pin::pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use switchyard_gateway_host::{Gateways, Incoming, LifeError};

use super::super::error::Refused;
use crate::error::{ErrorCode, Problem};
use crate::reason;

/// Writes the parts of a file to the data folder.
pub async fn received<E>(
    gateways: &Gateways,
    parts: impl Stream<Item = Result<Bytes, E>>,
) -> Result<Incoming, Refused> {
    let mut incoming = gateways.incoming().await?;
    let mut parts = pin!(parts);
    let mut is_empty = true;
    while let Some(part) = parts.next().await {
        let cut = |_: E| Problem::new(ErrorCode::BodyIncomplete, "The file did not arrive whole.");
        let part = part
            .map_err(cut)
            .map_err(|problem| Refused(problem.into()))?;
        is_empty &= part.is_empty();
        incoming.write(&part).await.map_err(without_path)?;
    }
    if is_empty {
        let problem = Problem::new(
            ErrorCode::FieldInvalid,
            "The body is empty: send the gateway's file as it is.",
        );
        return Err(Refused(problem.into()));
    }
    Ok(incoming)
}

/// Removes the path from an error: that of an upload is internal.
pub fn without_path(error: LifeError) -> Refused {
    let LifeError::Refused(refused) = &error else {
        return error.into();
    };
    let text = refused.to_string();
    let words = text.split(' ').map(|word| {
        let is_path = word.contains("/upload-") && word.contains(".partial");
        if is_path { "the file" } else { word }
    });
    let sentence = format!("{}.", words.collect::<Vec<_>>().join(" "));
    let problem = Problem::new(ErrorCode::GatewayRefused, sentence);
    Refused(problem.because(reason::of_gateway(&error)).into())
}
