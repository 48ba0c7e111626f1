//! Manual orders of an operator. Each names its author and is on the transaction's timeline.

use std::sync::Arc;

use super::{Engine, EngineError};
use switchyard_core::ids::{CaseId, TransactionId};
use switchyard_core::transaction::{
    ByOperator, Command, Operator, OperatorCommand, Resolution, Transaction,
};
use switchyard_records::{self as records, CaseFound, CaseQuery, CasesFound};

/// Result of a manual query.
#[derive(Clone, Debug)]
pub struct QueryReport {
    pub transaction: Arc<Transaction>,
    /// The provider was asked. Not when it was asked a moment ago.
    pub asked: bool,
    /// Whether the gateway returned in time.
    pub answered: bool,
}

impl Engine {
    /// Queries the provider about the open attempt at once, and waits a few seconds for its
    /// response.
    pub async fn check(
        &self,
        id: TransactionId,
        operator: Operator,
    ) -> Result<QueryReport, EngineError> {
        let command = signed(operator, None, OperatorCommand::Check);
        let asked = self.ask(id, command).await?;
        let transaction = self.transaction(id).await?.ok_or(EngineError::NotFound)?;
        Ok(QueryReport {
            transaction,
            asked: asked.is_some(),
            answered: asked == Some(true),
        })
    }

    /// Settles the open attempt by a person's word.
    pub async fn resolve(
        &self,
        id: TransactionId,
        operator: Operator,
        note: String,
        resolution: Resolution,
    ) -> Result<Arc<Transaction>, EngineError> {
        let command = signed(operator, Some(note), OperatorCommand::Resolve(resolution));
        self.registry().send(self, id, command).await
    }

    /// Cancels a payment, or asks its provider to.
    pub async fn cancel_by_hand(
        &self,
        id: TransactionId,
        operator: Operator,
        note: Option<String>,
    ) -> Result<Arc<Transaction>, EngineError> {
        let command = signed(operator, note, OperatorCommand::Cancel);
        self.cancel_with(id, command).await
    }

    /// Closes a case.
    pub async fn close_case(
        &self,
        id: CaseId,
        operator: Operator,
        note: String,
    ) -> Result<CaseFound, EngineError> {
        let found = self.case(id).await?.ok_or(EngineError::NotFound)?;
        let command = signed(operator, Some(note), OperatorCommand::CloseCase(id));
        let transaction = self
            .registry()
            .send(self, found.transaction.id, command)
            .await?;
        CaseFound::of(id, transaction).ok_or(EngineError::NotFound)
    }

    /// A case with its transaction.
    pub async fn case(&self, id: CaseId) -> Result<Option<CaseFound>, EngineError> {
        Ok(records::case(self.store(), id).await?)
    }

    /// Cases, newest first.
    pub async fn cases(&self, query: &CaseQuery) -> Result<CasesFound, EngineError> {
        Ok(records::cases(self.store(), query).await?)
    }
}

fn signed(operator: Operator, note: Option<String>, order: OperatorCommand) -> Command {
    Command::ByOperator(Box::new(ByOperator {
        operator,
        note,
        order,
    }))
}
