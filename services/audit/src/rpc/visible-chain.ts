import { AppError, type CallContext } from "@muster/kit";
import type { TenantReader } from "@muster/service";
import { rangeOf } from "../rules/range.ts";
import { readableRange } from "../store/logs.ts";

type Chain = { chainId: string; orgId: string | null; partnerId: string | null };

/** Whether the caller reads a chain; throws `site_restricted` for users who read none. */
export async function isVisibleChain(
  reader: TenantReader,
  context: CallContext,
  { chainId, orgId, partnerId }: Chain,
): Promise<boolean> {
  const range = rangeOf(context.caller, null);
  if (range.kind === "all") return true;
  if (range.kind === "chains" && !range.chainIds.includes(chainId)) return false;
  if (range.kind === "partner" && partnerId !== range.partnerId) return false;
  if (!orgId) return true;
  // A deleted organization is inaccessible to its users.
  return readableRange(reader, context, orgId).then(
    () => true,
    (error: unknown) => {
      if (error instanceof AppError && error.code === "organization_not_found") return false;
      throw error;
    },
  );
}
