//! stub
use crate::context::Context; use std::net::SocketAddr; use std::sync::Arc; use tokio_util::sync::CancellationToken;
pub struct Mailbox; pub struct CaptureListener(tokio::net::TcpListener);
impl CaptureListener { pub fn local_addr(&self) -> SocketAddr { self.0.local_addr().unwrap() } }
impl Mailbox { pub fn new(_: Context) -> Self { Self }
 pub async fn bind(a: SocketAddr) -> std::io::Result<CaptureListener> { tokio::net::TcpListener::bind(a).await.map(CaptureListener) }
 pub async fn serve(l: CaptureListener, _: Arc<Self>, stop: CancellationToken) { let _l = l; stop.cancelled().await; } }
