import { useNavigate } from "@tanstack/react-router";
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { Failed, useForget } from "../api/queries.ts";
import { Confirm } from "../parts/confirm.tsx";
import { to } from "../parts/links.ts";
import { toast } from "../parts/said.ts";
import { useFilters } from "../parts/use-filters.ts";
import { failureSentence } from "../rules/failure-sentence.ts";
import type { Operation, Outcome, Run } from "./record-operation.ts";

// Operations of different records share one place: each is kept with its own record.
type Open = { key: string; render(close: () => void): ReactNode };

const Context = createContext<Run | null>(null);

/** Starts an operation: asks first where it asks, shows a failure there, and says what is different. */
export function useRun(): Run {
  const run = useContext(Context);
  if (run === null) throw new Error("no runner of operations around this");
  return run;
}

/** Runs the operations of all that is inside. */
export function Runner({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState<Open | null>(null);
  const forget = useForget();
  const navigate = useNavigate();
  const [{ orgId }] = useFilters();
  const finish = useCallback(
    async <R,>({ done, forgets, leaves }: Operation<R>, record: R, sentence = done?.(record)) => {
      if (sentence) toast(sentence);
      if (leaves) await navigate(to(leaves, { orgId }));
      await forget(...forgets);
    },
    [forget, navigate, orgId],
  );
  const run: Run = useCallback(
    (operation, record) => {
      const { id, verb, asks, form: Form, leads, run: work } = operation;
      if (leads) return void navigate(leads(record) as ReturnType<typeof to>);
      if (Form) {
        return setOpen({
          key: id,
          render: (close) => (
            <Form of={record} onClose={close} onDone={(sentence) => finish(operation, record, sentence)} />
          ),
        });
      }
      const act = async () => {
        const { says, shows } = (await work?.(record)) ?? {};
        await finish(operation, record, says);
        return shows;
      };
      // What is shown this once replaces the question, which has closed itself by then.
      const show = (shows: Outcome["shows"]) => {
        if (shows) setTimeout(() => setOpen({ key: `${id} outcome`, render: (close) => shows(close) }));
      };
      if (!asks) {
        act().then(show, (error: unknown) => {
          if (!(error instanceof Failed)) throw error;
          toast(failureSentence(error.failure), "failure");
        });
        return;
      }
      const typed = asks.typed?.(record);
      setOpen({
        key: id,
        render: (close) => (
          <Confirm
            title={asks.title(record)}
            verb={verb}
            {...(operation.tone ? { tone: operation.tone } : {})}
            {...(typed === undefined ? {} : { typed })}
            action={async () => show(await act())}
            onClose={close}
          >
            <p>{asks.says(record)}</p>
          </Confirm>
        ),
      });
    },
    [finish, navigate],
  );
  const close = useMemo(() => () => setOpen(null), []);
  return (
    <Context value={run}>
      {children}
      {open ? <div key={open.key}>{open.render(close)}</div> : null}
    </Context>
  );
}
