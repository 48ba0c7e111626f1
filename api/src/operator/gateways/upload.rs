//! A gateway's file as the body of a request, as it is: written to the data folder part by part.

use axum::body::Body;
use futures_util::StreamExt as _;
use switchyard_gateway_host::{Gateways, Incoming, LifeError};

use super::super::error::Refused;
use crate::error::{ErrorCode, Problem};

pub async fn received(gateways: &Gateways, body: Body) -> Result<Incoming, Refused> {
    let mut incoming = gateways.incoming().await?;
    let mut parts = body.into_data_stream();
    let mut is_empty = true;
    while let Some(part) = parts.next().await {
        let cut = |_| Problem::new(ErrorCode::BodyIncomplete, "The file did not arrive whole.");
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
    Refused(Problem::new(ErrorCode::GatewayRefused, sentence).into())
}
