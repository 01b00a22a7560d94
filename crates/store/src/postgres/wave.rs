//! One transaction, in waves: commands that touch different things are polled together, so that their statements are
//! pipelined, and a wave of them costs a few round trips, however many they are.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use futures_util::future::{LocalBoxFuture, join_all};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::batch::{Batch, Commit};
use super::conn::Conn;
use super::error::{Stop, is_busy, is_lost};
use super::job::Job;
use super::memory::Memory;
use super::touches::Touches;
use crate::StoreError;

/// Why one try was in vain.
pub(super) enum Trouble {
    Command(Error),
    /// The connection is gone, and nothing was committed.
    Lost(Error),
    /// The connection is gone, and something may have been committed.
    Unknown(Error),
    Other(StoreError),
}

/// One transaction. Whether it changed something.
pub(super) async fn perform(
    conn: &Conn,
    memory: &Memory,
    number: u64,
    jobs: &mut [Box<dyn Job>],
) -> Result<bool, Trouble> {
    let trouble = |error: Error| {
        if is_lost(&error) { Trouble::Lost(error) } else { Trouble::Command(error) }
    };
    let batch = match Batch::begin(conn, memory).await {
        Ok(batch) => batch,
        Err(Stop::Broken(error)) if is_lost(&error) || is_busy(&error) => {
            return Err(trouble(error));
        }
        Err(stop) => return Err(Trouble::Other(stop.into())),
    };
    let mut rest = jobs;
    while !rest.is_empty() {
        let (wave, others) = rest.split_at_mut(wave_length(rest));
        carry_wave(&batch, wave).await.map_err(trouble)?;
        rest = others;
    }
    match batch.commit(number).await {
        Commit::Done { wrote } => Ok(wrote),
        Commit::Failed(error) => Err(trouble(error)),
        Commit::Unknown(error) => Err(Trouble::Unknown(error)),
    }
}

/// Carries out commands that can go together. Whenever all of them wait, and some of them before the fence, it is opened.
async fn carry_wave(batch: &Batch<'_>, wave: &mut [Box<dyn Job>]) -> Result<(), Error> {
    let mut jobs = pin!(join_all(wave.iter_mut().map(|job| job.attempt(batch))));
    let mut opening: Option<LocalBoxFuture<'_, Result<(), Error>>> = None;
    let done = poll_fn(|context| {
        loop {
            if let Poll::Ready(done) = jobs.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            if opening.is_none() && batch.fence.is_empty() {
                return Poll::Pending;
            }
            let open = opening.get_or_insert_with(|| Box::pin(batch.fence.open(batch)));
            let Poll::Ready(opened) = open.as_mut().poll(context) else { return Poll::Pending };
            opening = None;
            if let Err(error) = opened {
                return Poll::Ready(Err(error));
            }
        }
    });
    // Behind the statement that failed all others fail too; they are not the reason.
    let errors = done.await?.into_iter().filter_map(Result::err);
    errors.min_by_key(follows_from_another).map_or(Ok(()), Err)
}

fn follows_from_another(error: &Error) -> bool {
    error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION)
}

/// How many of the jobs, from the first, go together.
fn wave_length(jobs: &[Box<dyn Job>]) -> usize {
    let mut wave = Touches::default();
    for (n, job) in jobs.iter().enumerate() {
        let mut touches = Touches::default();
        job.touches(&mut touches);
        if n == 0 {
            wave = touches;
        } else if !wave.join(&touches) {
            return n;
        }
    }
    jobs.len()
}
