import type { ItemOf } from "@muster/client";
import { CircleX, ShieldCheck } from "lucide-react";
import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf, Failed, useForget } from "../api/queries.ts";
import { Dialog, DialogActions } from "../parts/dialog.tsx";
import { Facts } from "../parts/facts.tsx";
import { CopyButton } from "../parts/list-head.tsx";
import { failureSentence } from "../rules/failure-sentence.ts";
import type { FormProps, Operation } from "./record-operation.ts";

type Domain = ItemOf<"/api/v1/sso/domains">;

const forgets = ["/api/v1/sso/domains"] as const;

/** What can be done with a claimed domain. */
export const domainOperations: readonly Operation<Domain>[] = [
  {
    id: "domain.verify",
    verb: "Verify",
    needs: "POST /api/v1/sso/domains/{id}/verify",
    icon: ShieldCheck,
    isOffered: ({ verifiedAt }) => verifiedAt === null,
    form: VerifyDomain,
    forgets,
  },
  {
    id: "domain.give-up",
    verb: "Give up",
    needs: "DELETE /api/v1/sso/domains/{id}",
    icon: CircleX,
    tone: "danger",
    asks: {
      title: ({ domain }) => `Give ${domain} up?`,
      says: () => "Accounts for its addresses are no longer created, and others may claim it.",
    },
    run: async ({ id }) => void (await dataOf(api.DELETE("/api/v1/sso/domains/{id}", { params: { path: { id } } }))),
    done: ({ domain }) => `${domain} is given up.`,
    forgets,
  },
];

/** The TXT record to create, and the check whether it exists. */
function VerifyDomain({ of: { id, domain, recordName, recordValue }, onClose }: FormProps<Domain>) {
  const [said, say] = useState<string | null>(null);
  const [isLooking, setLooking] = useState(false);
  const forget = useForget();
  async function look() {
    setLooking(true);
    try {
      const found = await dataOf(api.POST("/api/v1/sso/domains/{id}/verify", { params: { path: { id } } }));
      say(found.verifiedAt ? `${domain} is verified.` : `Not found yet: ${found.lastError ?? "no such record"}`);
      await forget(...forgets);
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      say(failureSentence(error.failure));
    } finally {
      setLooking(false);
    }
  }
  return (
    <Dialog title={`Verify ${domain}`} onClose={onClose}>
      <p>Create this TXT record at the domain's DNS provider; it may take an hour until it is visible.</p>
      <Facts
        of={[
          ["Name", <code key="name">{recordName}</code>],
          ["Value", <code key="value">{recordValue}</code>],
        ]}
      />
      <p role="status">{said}</p>
      <DialogActions>
        <CopyButton what="value" text={() => recordValue} />
        <button type="button" onClick={onClose}>
          Close
        </button>
        <button type="button" data-weight="primary" disabled={isLooking} onClick={() => void look()}>
          {isLooking ? "Looking …" : "Look now"}
        </button>
      </DialogActions>
    </Dialog>
  );
}
