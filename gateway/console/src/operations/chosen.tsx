import type { ComponentType } from "react";
import { ChooseFirst } from "../parts/form-dialog.tsx";
import { useMe } from "../parts/me.tsx";
import type { FormProps } from "./record-operation.ts";

/** What there is before a record: the organization that is chosen, if one is. */
export type Chosen = { orgId: string | undefined };

/** For what belongs to no organization. */
export const anywhere: Chosen = { orgId: undefined };

type Named = { title: string; what: string };

/** A form for what belongs to one organization: without one it says that one has to be chosen. `what` is "A key". */
export const inOrganization = ({ title, what }: Named, Form: ComponentType<FormProps<{ orgId: string }>>) =>
  function InOrganization({ of, ...props }: FormProps<Chosen>) {
    const orgId = useMe().orgId ?? of.orgId;
    if (orgId) return <Form of={{ orgId }} {...props} />;
    return <ChooseFirst title={title} what={what} onClose={props.onClose} />;
  };

/** A form for what belongs to the chosen organization, or without one to the user's partner. */
export const ofTenant = ({ title, what }: Named, Form: ComponentType<FormProps<Chosen>>) =>
  function OfTenant({ of, ...props }: FormProps<Chosen>) {
    const me = useMe();
    const orgId = me.orgId ?? of.orgId;
    if (orgId || me.scope === "partner") return <Form of={{ orgId }} {...props} />;
    return <ChooseFirst title={title} what={what} onClose={props.onClose} />;
  };
