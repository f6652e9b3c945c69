import { sleep } from "@muster/kit";
import type { Intake } from "./intake.ts";

/** From COMMIT to the answer of a post in another process, unless that process is held up, in ms. */
const elsewhereMs = 50;

/**
 * Waits for the answers to posts that were stored before a change of webhooks was committed: answered after the change,
 * they would seem to miss it. PostgreSQL releases the organization with COMMIT, not with the answer to the post.
 */
export async function earlierPosts(intake: Pick<Intake, "answered">): Promise<void> {
  await Promise.all([intake.answered(), sleep(elsewhereMs)]);
}
