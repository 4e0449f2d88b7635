"""What each error code means and what to do about it, for docs/configuration.md. A test compares the codes with the source."""

from __future__ import annotations

from typing import NamedTuple


class ErrorCode(NamedTuple):
    """A code, what it means, and what the caller or the person can do."""

    code: str
    meaning: str
    to_do: str


ERROR_CODES: dict[str, tuple[ErrorCode, ...]] = {
    "The call": (
        ErrorCode(
            "INVALID_ARGUMENTS",
            "An argument is missing, unknown or wrong, or arguments contradict each other.",
            "The message shows an example of what would be right.",
        ),
        ErrorCode("TOOL_NOT_FOUND", "There is no tool of this name.", "`more_tools` lists the others; see tools.md."),
        ErrorCode("PROMPT_NOT_FOUND", "There is no prompt of this name.", "The message names those there are."),
        ErrorCode(
            "TASK_NOT_FOUND",
            "There is no task of this name: it is another client's, or its answer was kept for its time and is gone.",
            "Make the call again.",
        ),
        ErrorCode(
            "CURSOR_EXPIRED",
            "The results behind this cursor are not kept any more.",
            "Call again without `cursor`.",
        ),
    ),
    "Finding the place": (
        ErrorCode("VAULT_NOT_FOUND", "This server has no vault of this name.", "The message names those it has."),
        ErrorCode(
            "FILE_NOT_FOUND",
            "No note or file has this path or name, or it is hidden from this client.",
            "The message names similar ones. `find_notes` looks for parts of a name.",
        ),
        ErrorCode("AMBIGUOUS_NAME", "Several notes have this name.", "Give one of the paths in the message."),
        ErrorCode("SECTION_NOT_FOUND", "The note has no such heading or block.", "`read_notes` with `part: outline`."),
        ErrorCode(
            "TEXT_NOT_FOUND",
            "The note does not have this text, task or link.",
            "The message shows what is most like it. Read the note again, and copy the text exactly.",
        ),
        ErrorCode(
            "AMBIGUOUS_TARGET",
            "The text, heading or task is in the note several times.",
            "Give more of it, or a line, `occurrence` or `every`, as the message says.",
        ),
        ErrorCode(
            "PATH_OUTSIDE_VAULT", "The path, or a link on the way, leads out of the vault.", "Give a path in it."
        ),
    ),
    "Changing notes": (
        ErrorCode(
            "NOTE_EXISTS",
            "A note or file of this name is there, or links use the name.",
            "Take another name, or say with `if_exists` what is wanted.",
        ),
        ErrorCode(
            "STALE_EDIT",
            "The note is not what was read: somebody has changed it since. Nothing was changed.",
            "Read it again, and make the edit for its new text.",
        ),
        ErrorCode(
            "NOT_READ",
            "The server demands that a note is read before it is changed (`--require-read-first`), or the etag came with a "
            "part of the note only.",
            "Read the note, then call again.",
        ),
        ErrorCode("NOT_UTF8", "The file's bytes are not UTF-8 text.", "Convert it with an editor; it is not changed."),
        ErrorCode(
            "UNDO_CONFLICT",
            "What the change wrote was edited later, so undoing it would lose that edit. Nothing was changed.",
            "Undo the later change first, or edit by hand. The message names it.",
        ),
        ErrorCode(
            "WRITE_FAILED", "The disk refused: full, read-only, in use. Nothing was changed.", "See the message."
        ),
        ErrorCode(
            "TOO_MANY_WAITING",
            "So many changes wait for the person that no more may. Nothing was changed.",
            "Decide some at the desk, or let the client withdraw some with `pending_changes`.",
        ),
        ErrorCode(
            "JOURNAL_FAILED",
            "The change could not be put on record, so it was not made.",
            "Make room in the state folder, or set VAULTWIRE_STATE to another one.",
        ),
    ),
    "Permission": (
        ErrorCode(
            "POLICY_DENIED",
            "The policy of the server does not allow it.",
            "`vaultwire policy explain` names the rule; see policy.md.",
        ),
        ErrorCode(
            "PERMISSION_DENIED",
            "The file is hidden, write-protected, or the system does not let the program read it.",
            "Change its rights. Hidden files are never changed.",
        ),
        ErrorCode(
            "NETWORK_BLOCKED", "The server may not connect to this host.", "`--allow-web`, `--attachments-from`."
        ),
        ErrorCode("CLIENT_REFUSED", "The person, or the client, did not agree to the change.", "Nothing was changed."),
        ErrorCode(
            "CLIENT_CANNOT",
            "The tool has to ask the client something, and the client does not support that.",
            "Use another client for this call. The message names the missing capability.",
        ),
        ErrorCode("AUDIT_FAILED", "With `--audit-strict`: the call could not be logged.", "Make the log writable."),
    ),
    "Size and time": (
        ErrorCode(
            "TOO_LARGE",
            "The file, the text or the answer is larger than is allowed.",
            "Read a part, or raise `--max-answer` or `[sizes]` of the policy.",
        ),
        ErrorCode("TIMEOUT", "The call took longer than is allowed.", "Ask for less, or raise `--timeout`."),
        ErrorCode("RATE_LIMITED", "The client made too many calls.", "Wait as many seconds as `retryAfter` says."),
        ErrorCode(
            "SERVER_BUSY",
            "Too many calls are under way; or the database between [several servers](teams.md) is away.",
            "Call again after as many seconds as `retryAfter` says, else when some calls are done.",
        ),
        ErrorCode("BATCH_TOO_LARGE", "A JSON-RPC batch has too many messages.", "Send fewer at once."),
    ),
    "Files that are no notes, and the web": (
        ErrorCode("CANNOT_SHOW", "The picture or PDF is broken, protected or of an unknown kind.", "Open it yourself."),
        ErrorCode("NOT_INSTALLED", "Reading this file needs an extra of the program.", "See dependencies.md."),
        ErrorCode("WEB_NOT_INSTALLED", "Searching the web needs the extra `web`.", "See dependencies.md."),
        ErrorCode("WEB_FAILED", "The other server did not answer, or not with what was asked for.", "Try again later."),
    ),
    "Obsidian": (
        ErrorCode("OBSIDIAN_NOT_RUNNING", "The tool needs the running app.", "Open the vault in Obsidian."),
        ErrorCode("OBSIDIAN_FAILED", "The app's own command reported an error.", "See the message."),
    ),
    "The connection": (
        ErrorCode("NOT_INITIALIZED", "A request came before the handshake.", "Send `initialize` first."),
        ErrorCode("SERVER_UNREACHABLE", "`connect` cannot reach the server. Nothing was sent.", "Is it running there?"),
        ErrorCode(
            "CONNECTION_LOST",
            "The connection broke while the call ran. It may have been done.",
            "For a change: look at `list_changes` before you repeat it.",
        ),
        ErrorCode("SERVER_REFUSED", "The server refused what `connect` sent to it.", "See the message."),
        ErrorCode("INTERNAL", "A fault of the program itself.", "stderr of the server says more. Please report it."),
    ),
}
