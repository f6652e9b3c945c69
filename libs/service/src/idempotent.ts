import { createHash } from "node:crypto";
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type Database,
  type IdempotentRequest,
  jobs,
  removeExpiredReplies,
  type StoredReply,
  storedReply,
  storeReply,
  type Tx,
  takeIdempotencyKey,
} from "@muster/db";
import { AppError, type CallContext, type Logger, type Repeating, repeatEvery, validationError } from "@muster/kit";
import type { SealedColumn } from "./sealed-column.ts";

/** Seals bytes so that they open at the same location only. */
export type ReplyBox = {
  seal(plain: Buffer, location: string): Buffer;
  open(envelope: Buffer, location: string): Buffer;
};

const replyLocation = (key: readonly string[]) => `idempotency.reply/${key.join("/")}`;

/**
 * Stored replies; those of methods without a secret in them are in clear. The `box` of `idempotentTx` has this purpose.
 */
export const sealedReplies = {
  table: "idempotency",
  key: [
    ["caller", "text"],
    ["rpc", "text"],
    ["key", "text"],
  ],
  column: "reply",
  purpose: "idempotency",
  location: replyLocation,
  mayBeClear: true,
} as const satisfies SealedColumn;

const visibleAscii = /^[\x21-\x7e]{1,255}$/;

/**
 * Runs a mutation in one transaction and resolves to its reply. Under an Idempotency-Key the reply is stored by that
 * transaction: for 24 hours the same request of the same caller is answered with it and runs nothing, also when both
 * come at once. What `check` verifies in the same transaction holds for a stored reply, too: a caller who has lost
 * access since is refused as without the key. A reply that holds a secret is stored sealed by `box`. Throws
 * `idempotency_conflict` for another request under the key, `validation_failed` for a key that cannot be one.
 */
export function idempotentTx<I extends DescMessage, O extends DescMessage, R>(
  db: Database,
  context: CallContext,
  method: DescMethodUnary<I, O>,
  request: MessageShape<I>,
  check: (tx: Tx) => Promise<R>,
  run: (tx: Tx, checked: R) => Promise<MessageInitShape<O>>,
  box: ReplyBox = inClear,
): Promise<MessageShape<O>> {
  const { output } = method;
  const keyed = requestedBy(context, method, request);
  if (keyed === null) return db.tx(context, async (tx) => create(output, await run(tx, await check(tx))));
  return db.tx(context, async (tx) => {
    const stored = await takeIdempotencyKey(tx, keyed);
    if (stored) requireSame(stored, keyed);
    const checked = await check(tx);
    if (stored) return fromBinary(output, box.open(stored.reply, locationOf(keyed)));
    const reply = create(output, await run(tx, checked));
    await storeReply(tx, keyed, box.seal(Buffer.from(toBinary(output, reply)), locationOf(keyed)));
    return reply;
  });
}

/**
 * What `idempotentTx` answers a repeat with; null when nothing is stored. For a mutation that calls another service
 * before its transaction: a repeat makes no such call. The caller's access is checked before. Throws as `idempotentTx`
 * does.
 */
export async function repeatedReply<I extends DescMessage, O extends DescMessage>(
  db: Database,
  context: CallContext,
  method: DescMethodUnary<I, O>,
  request: MessageShape<I>,
  box: ReplyBox = inClear,
): Promise<MessageShape<O> | null> {
  const keyed = requestedBy(context, method, request);
  const stored = keyed && (await storedReply(db, context, keyed));
  if (!keyed || !stored) return null;
  requireSame(stored, keyed);
  return fromBinary(method.output, box.open(stored.reply, locationOf(keyed)));
}

/** The request as its Idempotency-Key names it; null without one. */
function requestedBy<I extends DescMessage, O extends DescMessage>(
  context: CallContext,
  method: DescMethodUnary<I, O>,
  request: MessageShape<I>,
): IdempotentRequest | null {
  const key = context.meta.idempotencyKey ?? null;
  if (key === null) return null;
  if (!visibleAscii.test(key)) throw validationError({ "Idempotency-Key": ["1 to 255 visible ASCII characters"] });
  return {
    caller: context.caller.actor.id,
    rpc: `${method.parent.typeName}/${method.name}`,
    key,
    sha256: createHash("sha256").update(toBinary(method.input, request)).digest(),
  };
}

const locationOf = ({ caller, rpc, key }: IdempotentRequest) => replyLocation([caller, rpc, key]);

function requireSame(stored: StoredReply, { sha256 }: IdempotentRequest): void {
  if (stored.sha256.equals(sha256)) return;
  throw new AppError("idempotency_conflict", "The Idempotency-Key was used for another request");
}

/** The `check` of a mutation that was checked, for this very call, before its transaction began. */
export const checkedBefore = async (): Promise<void> => undefined;

const inClear: ReplyBox = { seal: (plain) => plain, open: (stored) => stored };

const cleanMs = 10 * 60_000;

/** Every ten minutes removes stored replies that count no longer, and jobs that ended 30 days ago. */
export function startCleanup({ db, log }: { db: Database; log: Logger }): Repeating {
  return repeatEvery(
    cleanMs,
    async () => {
      await removeExpiredReplies(db);
      await jobs(db).removeFinished();
    },
    (err) => log.warn({ err }, "stored replies and finished jobs not cleaned up"),
  );
}
