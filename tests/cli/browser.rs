//! Drives Chromium without a window, over its debugging protocol: messages in JSON, each with a NUL behind it, on two pipes
//! (`--remote-debugging-pipe`; Chrome DevTools Protocol).

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A browser with one page.
pub struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    number: u64,
    /// What the page said of itself that it should not: errors, requests.
    pub complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

/// Debian's and others' names of the program.
fn program() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| {
            let version = Command::new(name).arg("--version").output();
            version.is_ok_and(|output| output.status.success())
        })
}

impl Browser {
    /// Starts it; `None` where there is none.
    pub fn start() -> Option<Browser> {
        let program = program()?;
        let profile = tempfile::tempdir().unwrap();
        // The pipes are the file descriptors 3 and 4.
        let script = format!(
            "exec {program} --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
             --disable-background-networking --disable-component-update --window-size=1200,1400 \
             --user-data-dir=\"$1\" --remote-debugging-pipe 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"
        );
        let mut child = Command::new("sh")
            .args(["-c", &script, "sh"])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (send, messages) = channel();
        std::thread::spawn(move || {
            loop {
                let mut bytes = Vec::new();
                match output.read_until(0, &mut bytes) {
                    Ok(0) | Err(_) => return,
                    Ok(_) => bytes.pop(),
                };
                let message = serde_json::from_slice(&bytes).unwrap();
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Browser {
            child,
            input,
            messages,
            session: None,
            number: 0,
            complaints: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Calls a method and returns its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.input.write_all(&bytes).unwrap();
        loop {
            let answer = self.next();
            if answer["id"] == self.number {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    fn next(&mut self) -> Value {
        let message = self.messages.recv_timeout(LIMIT).expect("Chromium answers");
        let of = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" | "Log.entryAdded" => self.complaints.push(of.to_string()),
            "Runtime.consoleAPICalled" => self.complaints.push(of.to_string()),
            "Page.javascriptDialogOpening" => self.complaints.push(of.to_string()),
            "Network.requestWillBeSent" => {
                let url = of["request"]["url"].as_str().unwrap_or_default();
                if of["type"] != "Document" {
                    self.complaints.push(format!("request: {url}"));
                }
            }
            _ => {}
        }
        message
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, file: &Path) {
        self.call(
            "Page.navigate",
            json!({"url": format!("file://{}", file.display())}),
        );
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'");
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let call = json!({"expression": expression, "returnByValue": true});
        let result = self.call("Runtime.evaluate", call);
        assert!(
            result.get("exceptionDetails").is_none(),
            "{expression}: {result}"
        );
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn wait(&mut self, expression: &str) {
        for _ in 0..200 {
            if self.value(expression) == true {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("never true: {expression}");
    }

    /// Clicks in the middle of the first element that a selector finds.
    pub fn click(&mut self, selector: &str) {
        let place = self.value(&format!(
            "(() => {{ const e = document.querySelector({}); e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()",
            json!(selector)
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Presses a key that writes one character.
    pub fn key(&mut self, key: &str) {
        self.call(
            "Input.dispatchKeyEvent",
            json!({"type": "keyDown", "key": key, "text": key}),
        );
        self.call(
            "Input.dispatchKeyEvent",
            json!({"type": "keyUp", "key": key}),
        );
    }

    /// Writes a picture of the whole page.
    pub fn picture(&mut self, to: &Path) {
        use base64::Engine as _;
        let shot = self.call(
            "Page.captureScreenshot",
            json!({"captureBeyondViewport": true}),
        );
        let data = shot["data"].as_str().unwrap();
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(data)
            .unwrap();
        std::fs::write(to, bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
