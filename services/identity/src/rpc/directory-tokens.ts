import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { uuidv7, validationError } from "@muster/kit";
import { DirectoryService } from "@muster/proto/muster/identity/v1/directory_pb";
import { callContext } from "@muster/rpc";
import { checkedBefore, idempotentTx } from "@muster/service";
import type { KeyDeps } from "../deps.ts";
import { recordDirectory } from "../emits/directory-facts.ts";
import type { DirectoryRow } from "../rules/directory/directory.ts";
import { newToken } from "../rules/opaque-token.ts";
import { lockDirectory } from "../store/directory/directories.ts";
import { deleteDirectoryTokens, endDirectoryTokens, insertDirectoryToken } from "../store/directory/tokens.ts";
import { directoryGuards } from "./directory-guards.ts";
import { directoryMessage } from "./directory-message.ts";

/** Hours for which the tokens before a rotation may be accepted. */
const maxGraceHours = 168;
const hourMs = 3_600_000;
const prefixLength = 10;

type Handlers = Pick<ServiceImpl<typeof DirectoryService>, "rotateDirectoryToken" | "revokeDirectoryTokens">;

/** A token that the directory is called with from now on; only its digest is stored. */
export async function addToken(tx: Tx, row: DirectoryRow, at: Date): Promise<string> {
  const { token, hash: digest } = newToken("scim_");
  await insertDirectoryToken(tx, row, { id: uuidv7(at.getTime()), digest, prefix: token.slice(0, prefixLength) }, at);
  return token;
}

/** Tokens of directories, which are changed by rotation. */
export function directoryTokens(deps: KeyDeps): Handlers {
  const { db, now } = deps;
  const { requireWriter, requireChangeable, lock } = directoryGuards(deps);

  return {
    async rotateDirectoryToken(request, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const { id, graceHours } = request;
      if (graceHours > maxGraceHours) throw validationError({ graceHours: [`0 to ${maxGraceHours}`] });
      const seen = await requireChangeable(context, id);
      const rotate = async (tx: Tx) => {
        const at = now();
        const row = await lock(tx, context, seen);
        if (graceHours === 0) await deleteDirectoryTokens(tx, id);
        else await endDirectoryTokens(tx, id, new Date(at.getTime() + graceHours * hourMs), at);
        const token = await addToken(tx, row, at);
        recordDirectory(tx, context, row, "directory.token.rotate", { graceHours }, at);
        const stored = (await lockDirectory(tx, context.caller, id)) ?? row;
        return { directory: directoryMessage(stored), token };
      };
      const { rotateDirectoryToken } = DirectoryService.method;
      return idempotentTx(db, context, rotateDirectoryToken, request, checkedBefore, rotate, deps.box);
    },

    async revokeDirectoryTokens({ id }, handler) {
      const context = callContext(handler);
      const seen = await requireChangeable(context, id);
      const revoked = await db.tx(context, async (tx) => {
        const row = await lock(tx, context, seen);
        const ended = await deleteDirectoryTokens(tx, id);
        recordDirectory(tx, context, row, "directory.token.revoke", { revoked: ended }, now());
        return ended;
      });
      return { revoked };
    },
  };
}
