import { sleep } from "@muster/kit";
import type { Intake } from "./intake.ts";

/** From COMMIT to the answer of a post in another process, unless that process is held up, in ms. */
const elsewhereMs = 50;

/**
 * Waits for the posts whose events were stored too early for a change of webhooks that has just been committed: a caller
 * who sees the change answered first would miss these events. PostgreSQL releases the organization with COMMIT, not with
 * the answer to the post.
 */
export async function earlierPosts(intake: Pick<Intake, "answered">): Promise<void> {
  await Promise.all([intake.answered(), sleep(elsewhereMs)]);
}
