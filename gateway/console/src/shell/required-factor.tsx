import { type ReactNode, useState, useSyncExternalStore } from "react";
import { queryClient } from "../api/queries.ts";
import { signOut } from "../api/session.ts";
import { isStepUpWanted, onStepUp, stepUp } from "../api/step-up.ts";
import { PageTitle } from "../parts/page-title.tsx";
import { toast } from "../parts/said.ts";
import { EmptyState } from "../parts/states.tsx";
import { StepUpDialog } from "../parts/step-up-dialog.tsx";
import { failureSentence } from "../rules/failure-sentence.ts";
import type { Me } from "../rules/why-not.ts";

/**
 * The pages, or all that a session shows until it has the second factor that its user's tenant requires. An enrollment
 * stays to its end: the recovery codes come after the factor counts.
 */
export function FactorGate({ me, children }: { me: Me; children: ReactNode }) {
  const isProving = useSyncExternalStore(onStepUp, isStepUpWanted);
  const [wasHeld, hold] = useState(me.secondFactorRequired);
  const isHeld = me.secondFactorRequired || (wasHeld && isProving);
  if (isHeld !== wasHeld) hold(isHeld);
  return isHeld ? <RequiredFactor me={me} /> : children;
}

function RequiredFactor({ me }: { me: Me }) {
  const tenant = me.scope === "partner" ? "partner" : "organization";
  const complete = async () => {
    if (await stepUp()) await queryClient.invalidateQueries();
  };
  return (
    <main className="frame-main" id="main">
      <PageTitle title="A second factor is required" />
      <EmptyState title={me.mfaEnabled ? "Confirm that it is you." : "Set up a second factor to go on."}>
        <p>Your {tenant} requires one of everybody: an authenticator app, or a passkey where you have one.</p>
        <p>
          <button type="button" data-weight="primary" onClick={() => void complete()}>
            {me.mfaEnabled ? "Confirm" : "Set it up"}
          </button>{" "}
          <button
            type="button"
            onClick={() => void signOut().then((failure) => failure && toast(failureSentence(failure), "failure"))}
          >
            Sign out
          </button>
        </p>
      </EmptyState>
      <StepUpDialog />
    </main>
  );
}
