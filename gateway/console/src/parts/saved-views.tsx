import type { ItemOf } from "@muster/client";
import { type FormEvent, useState } from "react";
import { api } from "../api/api.ts";
import type { Failure } from "../api/call.ts";
import { dataOf, Failed, useForget, useList } from "../api/queries.ts";
import { filtersOf, type ViewedList } from "../rules/viewed-lists.ts";
import { Dialog, DialogActions } from "./dialog.tsx";
import forms from "./field.module.css";
import { Field } from "./field.tsx";
import { useMe } from "./me.tsx";
import { MoreRows } from "./more-rows.tsx";
import { PlainTable } from "./plain-table.tsx";
import { RowAction } from "./row-action.tsx";
import { toast } from "./said.ts";
import { FailureState, ListState } from "./states.tsx";
import { useFilters } from "./use-filters.ts";
import { useWrite } from "./use-write.ts";

type View = ItemOf<"/api/v1/saved-views">;
type SavedViewsProps = {
  of: ViewedList;
  /** The filters that the list knows. */
  names: readonly string[];
  onClose(): void;
};

/** The saved views of a list: one's own and those that others share. The filters on screen become another. */
export default function SavedViews({ of, names, onClose }: SavedViewsProps) {
  const [filters, change] = useFilters();
  const forget = useForget();
  const [failure, setFailure] = useState<Failure | null>(null);
  const list = useList("/api/v1/saved-views", { params: { query: { resource: of } } });
  const inForce = Object.fromEntries(
    names.flatMap((name) => {
      const value = filters[name];
      return value ? [[name, value] as const] : [];
    }),
  );
  const act = async (work: () => Promise<unknown>, sentence: string) => {
    setFailure(null);
    try {
      await work();
      toast(sentence);
      await forget("/api/v1/saved-views");
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      setFailure(error.failure);
    }
  };
  return (
    <Dialog title="Saved views" onClose={onClose}>
      {failure ? <FailureState failure={failure} /> : null}
      <ListState list={list} what="Loading the views">
        <p className="soft">No view of this list is saved yet.</p>
      </ListState>
      {list.rows.length > 0 ? (
        <PlainTable columns={["View", "Filters", "For"]} hasActions>
          {list.rows.map((view) => (
            <ViewRow
              key={view.id}
              of={view}
              apply={() => {
                change(filtersOf(view.query, names));
                onClose();
              }}
              query={inForce}
              act={act}
            />
          ))}
        </PlainTable>
      ) : null}
      <MoreRows of={list}>More views</MoreRows>
      <NewView of={of} query={inForce} />
      <DialogActions>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </DialogActions>
    </Dialog>
  );
}

type ViewRowProps = {
  of: View;
  apply(): void;
  /** The filters on screen, which may replace the view's. */
  query: Record<string, string>;
  act(work: () => Promise<unknown>, sentence: string): Promise<void>;
};

function ViewRow({ of: view, apply, query, act }: ViewRowProps) {
  const me = useMe();
  const { id, name, shared, ownerId } = view;
  const params = { path: { id } };
  const mayChange = ownerId === me.id || (shared && me.permissions.includes("organizations:write"));
  const replace = () => dataOf(api.PATCH("/api/v1/saved-views/{id}", { params, body: { query } }));
  const remove = () => dataOf(api.DELETE("/api/v1/saved-views/{id}", { params }));
  return (
    <tr>
      <th scope="row">
        <button type="button" data-weight="link" onClick={apply}>
          {name}
        </button>
      </th>
      <td className="soft">{filterText(view.query)}</td>
      <td>{shared ? (ownerId === me.id ? "shared by you" : "shared") : "you"}</td>
      <td>
        {mayChange ? (
          <>
            <RowAction of={name} onClick={() => void act(replace, `${name} has the filters on screen.`)}>
              Replace
            </RowAction>{" "}
            <RowAction of={name} onClick={() => void act(remove, `${name} is deleted.`)}>
              Delete
            </RowAction>
          </>
        ) : null}
      </td>
    </tr>
  );
}

const filterText = (query: View["query"]) =>
  Object.entries(query)
    .filter(([name]) => name !== "orgId")
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(", ") || "none";

function NewView({ of, query }: { of: ViewedList; query: Record<string, string> }) {
  const me = useMe();
  const write = useWrite();
  const forget = useForget();
  const mayShare = me.permissions.includes("organizations:write");
  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const element = event.currentTarget;
    const form = new FormData(element);
    const name = String(form.get("name")).trim();
    const owner = query.orgId ? { orgId: query.orgId } : {};
    const body = { ...owner, name, resource: of, query, shared: form.has("shared") };
    const made = await write.run(() => dataOf(api.POST("/api/v1/saved-views", { body })));
    if (made === null) return;
    element.reset();
    toast(`The view “${name}” is saved.`);
    await forget("/api/v1/saved-views");
  }
  return (
    <form className={forms.form} onSubmit={send}>
      {write.failure && !write.errorsOf("name") ? <FailureState failure={write.failure} /> : null}
      <Field label="Save the filters on screen as" hint={filterText(query)} errors={write.errorsOf("name")}>
        <input name="name" required maxLength={255} autoComplete="off" />
      </Field>
      <label>
        <input type="checkbox" name="shared" disabled={!mayShare} /> Share it with{" "}
        {query.orgId ? "all who may see this organization" : "all who may see your tenant"}
        {mayShare ? "" : ": you need the permission organizations:write"}
      </label>
      <div>
        <button type="submit" data-weight="primary" disabled={write.isRunning}>
          {write.isRunning ? "Saving …" : "Save view"}
        </button>
      </div>
    </form>
  );
}
