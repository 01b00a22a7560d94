//! One call: what came in is carried out, and what comes of it sent.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt as _};
use serde_json::Value;
use tonic::body::Body;
use tonic::codegen::http::{Request as HttpRequest, Response as HttpResponse};
use tonic::codegen::{Body as HttpBody, Service, StdError};
use tonic::server::Grpc;
use tonic::{Request, Response, Status};

use crate::codec::JsonCodec;
use crate::{Fault, Method};

/// What a stream gives.
pub type Answers = BoxStream<'static, Result<Value, Fault>>;

/// Carries out what is asked for.
pub trait Operations: Clone + Send + Sync + 'static {
    /// An operation that gives one message.
    fn single(
        self,
        method: Method,
        params: Value,
    ) -> impl Future<Output = Result<Value, Fault>> + Send + 'static;

    /// An operation that gives any number of them.
    fn stream(
        self,
        method: Method,
        params: Value,
    ) -> impl Future<Output = Result<Answers, Fault>> + Send + 'static;
}

/// Answers one call of `method`, whose message may be of `limit` bytes.
pub async fn answer<O, B>(
    operations: O,
    method: Method,
    limit: usize,
    request: HttpRequest<B>,
) -> HttpResponse<Body>
where
    O: Operations,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<StdError> + Send,
{
    let mut grpc = Grpc::new(JsonCodec(method.clone())).max_decoding_message_size(limit);
    let call = Call { operations, method };
    if call.method.streams() {
        grpc.server_streaming(Streamed(call), request).await
    } else {
        grpc.unary(Single(call), request).await
    }
}

/// Answers a call that is refused before it is read.
pub fn refuse(fault: Fault) -> HttpResponse<Body> {
    Status::from(fault).into_http()
}

/// One method, to be carried out.
#[derive(Clone)]
struct Call<O> {
    operations: O,
    method: Method,
}

type Answering<T> = Pin<Box<dyn Future<Output = Result<Response<T>, Status>> + Send>>;

struct Single<O>(Call<O>);

impl<O: Operations> Service<Request<Value>> for Single<O> {
    type Response = Response<Value>;
    type Error = Status;
    type Future = Answering<Value>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Value>) -> Self::Future {
        let Call { operations, method } = self.0.clone();
        Box::pin(async move {
            Ok(Response::new(operations.single(method, request.into_inner()).await?))
        })
    }
}

struct Streamed<O>(Call<O>);

impl<O: Operations> Service<Request<Value>> for Streamed<O> {
    type Response = Response<BoxStream<'static, Result<Value, Status>>>;
    type Error = Status;
    type Future = Answering<BoxStream<'static, Result<Value, Status>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Value>) -> Self::Future {
        let Call { operations, method } = self.0.clone();
        Box::pin(async move {
            let answers = operations.stream(method, request.into_inner()).await?;
            Ok(Response::new(answers.map(|it| it.map_err(Status::from)).boxed()))
        })
    }
}
