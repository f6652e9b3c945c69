import { Link } from "@tanstack/react-router";
import type { BodyOf } from "../../api/queries.ts";
import { OneButton } from "../../operations/operation-buttons.tsx";
import { userOperations } from "../../operations/users.tsx";
import { to } from "../../parts/links.ts";
import { Notice } from "../../parts/notice.tsx";
import { Time } from "../../parts/time.tsx";
import { counted } from "../../rules/counted.ts";
import { answersSince } from "../../rules/guessed-sign-ins.ts";
import { useAccountRows } from "./account-rows.ts";
import { useLastSignIns } from "./last-sign-ins.tsx";

const endSessions = userOperations.filter(({ id }) => id === "user.sessions");

/** Says that somebody may guess a person's password, what came of it, and where to go; nothing of other accounts. */
export function Guessing({ of: user }: { of: BodyOf<"/api/v1/users/{id}"> }) {
  const { guesses } = useLastSignIns(user);
  const rows = useAccountRows(user);
  // The sentence would be another one as soon as it is known what was done since.
  if (guesses === null || rows.isLoading || user.status !== "active") return null;
  const { words, isPasswordNew } = answersSince(guesses.lastAt, rows.data?.data ?? []);
  const isOpen = guesses.isSerious && !isPasswordNew;
  const orgId = user.orgId ?? undefined;
  return (
    <Notice
      tone={isOpen ? "bad" : "warn"}
      title={
        <>
          {counted(guesses.count, "sign-ins")} were refused <Time at={guesses.lastAt} style="long" />.
        </>
      }
      action={
        <>
          <Link
            {...to("/audit", { orgId, actorId: user.id, actions: "user.login.failed", from: guesses.firstAt })}
            className="button"
          >
            See refused sign-ins
          </Link>
          {isOpen ? endSessions.map((each) => <OneButton key={each.id} of={user} operation={each} />) : null}
        </>
      }
    >
      {guesses.sentence} {words === "" && !isOpen ? "Somebody may be guessing the password." : words}
    </Notice>
  );
}
