#![allow(clippy::unwrap_used, reason = "a test may")]

use std::{future::Future as _, pin::pin, sync::mpsc, task::Context};

use super::*;

#[test]
fn a_call_that_is_dropped_keeps_the_turn_until_its_copy_ends() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let converter = PdfToText::new("/bin/sh").sandbox(Sandbox::Off);
        converter.state.sandbox.get_or_try_init(|| converter.start_sandbox()).await.unwrap();
        let (release, released) = mpsc::channel::<()>();
        // The copy waits for the one thread.
        #[expect(clippy::disallowed_methods, reason = "it is awaited")]
        let blocker = tokio::task::spawn_blocking(move || released.recv());
        {
            let document = io::Cursor::new("the document");
            let mut converted = pin!(converter.convert_document(document, None, CancellationToken::new()));
            let mut cx = Context::from_waker(std::task::Waker::noop());
            assert!(converted.as_mut().poll(&mut cx).is_pending());
        }
        assert!(converter.state.turn.try_lock().is_err());
        release.send(()).unwrap();
        blocker.await.unwrap().unwrap();
        let _turn = converter.state.turn.lock().await;
    });
}

fn output_of(stdout: &[&[u8]], stderr: &[&[u8]]) -> ConversionOutput {
    let mut output = ConversionOutput::default();
    stdout.iter().for_each(|part| output.receive_stdout(part));
    stderr.iter().for_each(|part| output.receive_stderr(part));
    output
}

#[test]
fn the_end_of_the_program_decides_about_its_text() {
    let end = |ending| {
        let output = output_of(&[b"one\x0c", b"\xfftwo"], &[b"Syntax \n", b" error\n"]);
        let converted = output.into_converted_text(ending, Duration::from_millis(1500));
        converted.map(|converted| (converted.text, converted.is_cut)).map_err(|error| error.to_string())
    };
    assert_eq!(end(CommandEnd::Exited(0)), Ok(("one\u{c}\u{fffd}two".to_owned(), false)));
    for (ending, reason) in [
        (CommandEnd::Exited(3), "Syntax error (exit code 3)"),
        (CommandEnd::TimedOut, "it took more than 1.5 seconds; read another document"),
        (CommandEnd::NotStarted, "its sandbox did not start: Syntax error"),
    ] {
        let message = format!("`pdftotext` does not convert the document: {reason}");
        assert!(end(ending).is_err_and(|error| error.ends_with(&message)));
    }
    let cancelled = output_of(&[], &[]).into_converted_text(CommandEnd::Cancelled, DEFAULT_TIMEOUT);
    assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Cancelled);
    let none = output_of(&[b"one"], &[b"Command Line Error: Wrong page range given"]);
    let none = none.into_converted_text(CommandEnd::Exited(99), DEFAULT_TIMEOUT).unwrap();
    assert_eq!((none.text.as_str(), none.is_cut), ("", false));
}

#[test]
fn up_to_8_mib_of_text_and_300_bytes_of_a_message_are_kept() {
    let half = vec![b'a'; MAX_TEXT_BYTES / 2];
    let output = output_of(&[&half, &half], &[&[b'm'; 200], &[b'n'; 200]]);
    assert_eq!((output.text.len(), output.is_cut), (MAX_TEXT_BYTES, false));
    assert_eq!(output.message, [&[b'm'; 200][..], &[b'n'; 100]].concat());
    let mut output = output_of(&[&half, &half, b"b"], &[]);
    assert_eq!((output.text.len(), output.is_cut), (MAX_TEXT_BYTES, true));
    output.receive_stdout(b"");
    assert!(output.is_cut);
    let mut output = output_of(&[&half, &vec![b'b'; MAX_TEXT_BYTES]], &[]);
    assert_eq!((output.text.len(), output.text.last(), output.is_cut), (MAX_TEXT_BYTES, Some(&b'b'), true));
    output.receive_stderr(b"m");
    let mut whole = output_of(&[b"one"], &[]);
    assert!(!whole.is_cut);
    whole.mark_possibly_incomplete();
    assert!(whole.into_converted_text(CommandEnd::Exited(0), DEFAULT_TIMEOUT).unwrap().is_cut);
}

#[test]
fn a_new_setting_has_a_sandbox_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let converter = PdfToText::new("/bin/sh");
    let same = converter.clone().timeout(Duration::from_secs(7));
    assert_eq!((same.timeout, converter.timeout), (Duration::from_secs(7), Duration::from_secs(30)));
    assert!(Arc::ptr_eq(&same.state, &converter.state));
    let off = converter.clone().sandbox(Sandbox::Off);
    assert_eq!((off.sandbox, converter.sandbox), (Sandbox::Off, Sandbox::Required));
    assert!(!Arc::ptr_eq(&off.state, &converter.state));
    let readable = converter.clone().readable(folder.path().join(".")).readable("/no/such/folder");
    let paths = [folder.path().canonicalize().unwrap(), "/no/such/folder".into()];
    assert_eq!(readable.readable, paths);
    assert!(!Arc::ptr_eq(&readable.state, &converter.state));
}
