//! The HTTP server in front: one thread, few connections, short heads, no bodies, one request each.

use super::asked::{Asked, Told};
use super::page;
use super::question::Question;
use crate::failure::Failure;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN, REFERER};
use hyper::header::{HeaderMap, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::LocalSet;
use tokio::time::{sleep, timeout};

/// Connections at once; more wait to be accepted.
const CONNECTIONS_MAX: usize = 32;

/// Bytes of a request's head; with more it is refused.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Header fields of a request.
const HEADERS_MAX: usize = 64;

/// A head that takes longer is given up.
const HEAD_TIME_MAX: Duration = Duration::from_secs(5);

/// Everything about one connection.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(30);

/// After an accept that failed, as where descriptors are gone.
const REST: Duration = Duration::from_millis(100);

/// The page runs no script and fetches nothing; no other page may frame it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// A socket that nothing is accepted from yet.
pub(super) struct Site {
    listener: TcpListener,
    address: SocketAddr,
}

/// What connections share.
struct Shared {
    services: Vec<Asked>,
    /// On a loopback address, pages of other names may be another's that resolve to it.
    own: Option<SocketAddr>,
}

impl Site {
    pub(super) fn bind(listen: SocketAddr) -> Result<Self, Failure> {
        let trouble = |why| {
            Failure::work(format!(
                "cannot listen on {listen}: {why}; --listen 127.0.0.1:0 takes a free port"
            ))
        };
        let listener = TcpListener::bind(listen).map_err(trouble)?;
        listener.set_nonblocking(true).map_err(trouble)?;
        let address = listener.local_addr().map_err(trouble)?;
        Ok(Self { listener, address })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves on a thread of its own until the process ends.
    pub(super) fn serve(self, services: Vec<Asked>) -> Result<JoinHandle<()>, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_io().enable_time().build().map_err(Failure::work)?;
        let thread = std::thread::Builder::new().name("tailwater-demo".into());
        let Self { listener, address } = self;
        let own = address.ip().is_loopback().then_some(address);
        let serve = move || {
            LocalSet::new().block_on(&runtime, accept(listener, Rc::new(Shared { services, own })));
        };
        thread.spawn(serve).map_err(Failure::work)
    }
}

async fn accept(listener: TcpListener, shared: Rc<Shared>) {
    // It is not blocking, and a reactor runs: nothing is left that could fail.
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener of this runtime");
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let place = room.clone().acquire_owned().await.expect("it is never closed");
        match listener.accept().await {
            Ok((stream, _)) => {
                let shared = shared.clone();
                tokio::task::spawn_local(async move {
                    // A connection that fails, or takes too long, is the other side's to mourn.
                    let _ = timeout(CONNECTION_TIME_MAX, connection(stream, shared)).await;
                    drop(place);
                });
            }
            Err(_) => sleep(REST).await,
        }
    }
}

async fn connection(stream: TcpStream, shared: Rc<Shared>) -> Result<(), hyper::Error> {
    let service = service_fn(|request| {
        let shared = shared.clone();
        async move { Ok::<_, Infallible>(answer(&request, &shared).await) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

async fn answer(request: &Request<Incoming>, shared: &Shared) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "found another method; GET is needed");
    }
    if !shared.own.is_none_or(|own| is_for(request.headers().get(HOST), own)) {
        return plain(
            StatusCode::FORBIDDEN,
            "found another host's name; this machine's own is needed",
        );
    }
    let question = Question::of_query(request.uri().query().unwrap_or_default());
    let is_of_another = is_of_another(request.headers());
    match request.uri().path() {
        "/ask" if is_of_another => {
            plain(StatusCode::FORBIDDEN, "found another site's request; this page's own is needed")
        }
        "/" if is_of_another => page_with(shared, &question, not_asked(&question)),
        "/" => page_with(shared, &question, told(shared, &question).await),
        "/ask" => json(shared, &question).await,
        _ => plain(StatusCode::NOT_FOUND, "found no such page; / and /ask are there"),
    }
}

/// Whether a request names this machine: else some page's script may have been led here by its own name.
fn is_for(host: Option<&HeaderValue>, own: SocketAddr) -> bool {
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
    let names = [own.to_string(), format!("localhost:{}", own.port())];
    // HTTP's own port is left out by those who connect to it.
    names.iter().any(|name| name == host || name.strip_suffix(":80") == Some(host))
}

/// Whether a browser says that another site's page asks, or one of another port of this machine. Other programs say nothing.
/// A person who types or has kept the address asks as well as the page itself.
fn is_of_another(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let is_own = |url: &str| {
        let rest = url.strip_prefix("http://").unwrap_or_default();
        let authority = rest.split('/').next().unwrap_or_default();
        text(HOST.as_str()) == Some(authority)
    };
    text("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none"))
        // Of browsers that do not say so: this page has none of the two sent.
        || [ORIGIN, REFERER].iter().any(|name| text(name.as_str()).is_some_and(|it| !is_own(it)))
}

/// What stands in place of an answer to another site's question.
fn not_asked(question: &Question) -> Option<Result<Told, String>> {
    const WHY: &str = "This question is another site's, and was not asked; press Search to ask it.";
    (!question.text.trim().is_empty()).then(|| Err(WHY.to_owned()))
}

/// What came of a question, if one was asked.
async fn told(shared: &Shared, question: &Question) -> Option<Result<Told, String>> {
    if question.text.trim().is_empty() {
        return None;
    }
    let service = shared.services.iter().find(|service| service.name == question.of)?;
    Some(service.ask(&question.text).await)
}

fn page_with(
    shared: &Shared,
    question: &Question,
    told: Option<Result<Told, String>>,
) -> Response<Full<Bytes>> {
    let part = |service: &Asked| {
        let own = told.as_ref().filter(|_| service.name == question.of);
        page::part(service, question, own)
    };
    let parts: Vec<String> = shared.services.iter().map(part).collect();
    response(StatusCode::OK, "text/html; charset=utf-8", page::page(&parts))
}

async fn json(shared: &Shared, question: &Question) -> Response<Full<Bytes>> {
    const JSON: &str = "application/json";
    let error = |why: &str| serde_json::json!({ "error": why }).to_string();
    match told(shared, question).await {
        Some(Ok(told)) => match serde_json::to_string(&told) {
            Ok(text) => response(StatusCode::OK, JSON, text),
            Err(why) => response(StatusCode::INTERNAL_SERVER_ERROR, JSON, error(&why.to_string())),
        },
        Some(Err(why)) => response(StatusCode::UNPROCESSABLE_ENTITY, JSON, error(&why)),
        None => {
            let why = "found no question; of=SERVICE and q=WORDS are needed";
            response(StatusCode::BAD_REQUEST, JSON, error(why))
        }
    }
}

fn plain(status: StatusCode, why: &str) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", format!("{why}\n"))
}

fn response(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_another_name_is_none_of_this_machine() {
        let own: SocketAddr = "127.0.0.1:7017".parse().expect("an address");
        let is = |host: &str| is_for(Some(&HeaderValue::from_str(host).expect("a value")), own);
        assert!(is("127.0.0.1:7017") && is("localhost:7017"));
        assert!(!is("evil.example:7017") && !is("127.0.0.1:80") && !is("localhost:7017.example"));
        assert!(!is_for(None, own) && !is("127.0.0.1") && !is("localhost"));
    }

    #[test]
    fn a_question_is_the_pages_own_a_persons_or_another_sites() {
        let is = |said: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static("127.0.0.1:7017"));
            for (name, value) in said {
                headers.insert(*name, HeaderValue::from_str(value).expect("a value"));
            }
            is_of_another(&headers)
        };
        for own in [
            &[][..],
            &[("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "none")],
            &[("origin", "http://127.0.0.1:7017")],
            &[("referer", "http://127.0.0.1:7017/?of=hdsearch&q=violin")],
        ] {
            assert!(!is(own), "{own:?}");
        }
        for foreign in [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("origin", "http://127.0.0.1:70"),
            ("origin", "null"),
            ("referer", "https://evil.example/"),
            ("referer", "http://127.0.0.1:7017.evil.example/"),
        ] {
            assert!(is(&[foreign]), "{foreign:?}");
        }
    }

    #[test]
    fn the_port_of_http_may_be_left_out() {
        for (own, bare) in [("127.0.0.1:80", "127.0.0.1"), ("[::1]:80", "[::1]")] {
            let own = own.parse().expect("an address");
            let is = |host: &str| is_for(Some(&HeaderValue::from_str(host).expect("a value")), own);
            assert!(is(bare) && is("localhost") && is("localhost:80"), "{own}");
            assert!(!is("evil.example") && !is(""), "{own}");
        }
    }
}
