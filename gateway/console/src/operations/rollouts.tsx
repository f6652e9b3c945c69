import { CheckCheck, CircleX, Pause, Pencil, Play, Undo2 } from "lucide-react";
import { api } from "../api/api.ts";
import { type BodyOf, dataOf } from "../api/queries.ts";
import { to } from "../parts/links.ts";
import { hasHalt } from "../rules/halting-failures.ts";
import { ChangeRollout, ResumeRollout } from "./change-rollout.tsx";
import { type Operation, offeredFor } from "./record-operation.ts";

type Rollout = BodyOf<"/api/v1/agent-versions/rollouts/{id}/progress">["rollout"];

const of = ({ id }: Rollout) => ({ path: { id } });
const isOver = ({ state, mayChange }: Rollout) => !mayChange || state === "completed" || state === "cancelled";
const isStopped = ({ state, mayChange }: Rollout) => mayChange && (state === "paused" || state === "halted");
const mayResume = (rollout: Rollout) => isStopped(rollout) || (!isOver(rollout) && rollout.haltedParts.length > 0);
const title = (verb: string) => (rollout: Rollout) => `${verb} the rollout of ${rollout.version}?`;
const forgets = ["/api/v1/agent-versions"] as const;

/** Devices that run the version go back to an older one. */
export const rollBack: Operation<Rollout> = {
  id: "rollout.back",
  verb: "Roll back to an older version",
  alsoCalled: ["Downgrade"],
  needs: "POST /api/v1/agent-versions/rollouts",
  icon: Undo2,
  isOffered: ({ allowDowngrade }) => !allowDowngrade,
  leads: ({ id, component }) => to("/releases/new-rollout", { backFrom: id, component }),
  forgets,
};

const pauseInMenu: Operation<Rollout> = {
  id: "rollout.pause",
  verb: "Pause",
  needs: "POST /api/v1/agent-versions/rollouts/{id}/pause",
  icon: Pause,
  isOffered: (rollout) => !isOver(rollout) && !isStopped(rollout),
  asks: {
    title: title("Pause"),
    says: () => "No further device is offered the version. Updates in progress continue.",
  },
  run: async (rollout) =>
    void (await dataOf(api.POST("/api/v1/agent-versions/rollouts/{id}/pause", { params: of(rollout) }))),
  done: () => "The rollout is paused.",
  forgets,
};
const pause: Operation<Rollout> = { ...pauseInMenu, shown: "button" };

const resumeInMenu: Operation<Rollout> = {
  id: "rollout.resume",
  verb: "Resume",
  needs: "POST /api/v1/agent-versions/rollouts/{id}/resume",
  icon: Play,
  isOffered: mayResume,
  isNext: mayResume,
  form: ResumeRollout,
  forgets,
};
// Not the primary one: the cause of the failures comes first.
const resume: Operation<Rollout> = { ...resumeInMenu, shown: "button" };

/** The ways on from a halt, beside its cause. */
export const haltSteps = (rollout: Rollout) => offeredFor([resumeInMenu, rollBack], rollout);

/** What can be done with a rollout. */
export const rolloutOperations: readonly Operation<Rollout>[] = [
  resume,
  pause,
  {
    id: "rollout.complete",
    verb: "Complete",
    needs: "POST /api/v1/agent-versions/rollouts/{id}/complete",
    icon: CheckCheck,
    isOffered: (rollout) => !isOver(rollout) && rollout.kind === "staged",
    asks: {
      title: title("Complete"),
      says: ({ partnerId }) => `The version becomes the target of the whole ${partnerId ? "partner" : "fleet"}.`,
    },
    run: async (rollout) =>
      void (await dataOf(api.POST("/api/v1/agent-versions/rollouts/{id}/complete", { params: of(rollout) }))),
    done: () => "The rollout is completed.",
    forgets,
  },
  {
    id: "rollout.change",
    verb: "Change",
    needs: "PATCH /api/v1/agent-versions/rollouts/{id}",
    icon: Pencil,
    isOffered: (rollout) => !isOver(rollout),
    form: ChangeRollout,
    forgets,
  },
  rollBack,
  {
    id: "rollout.cancel",
    verb: "Cancel it",
    alsoCalled: ["Stop"],
    needs: "POST /api/v1/agent-versions/rollouts/{id}/cancel",
    icon: CircleX,
    tone: "danger",
    isOffered: (rollout) => !isOver(rollout) && rollout.kind === "staged",
    asks: {
      title: title("Cancel"),
      says: () => "No further device is offered the version, permanently.",
    },
    run: async (rollout) =>
      void (await dataOf(api.POST("/api/v1/agent-versions/rollouts/{id}/cancel", { params: of(rollout) }))),
    done: () => "The rollout is cancelled.",
    forgets,
  },
];

/**
 * The same for the head of its page, which has one button: what continues it comes before what pauses it, and stands
 * beside the cause of a halt.
 */
export function rolloutHead(rollout: Rollout): readonly Operation<Rollout>[] {
  if (!mayResume(rollout)) return rolloutOperations;
  const first = hasHalt(rollout) ? resumeInMenu : resume;
  return rolloutOperations.map((each) => (each === pause ? pauseInMenu : each === resume ? first : each));
}
