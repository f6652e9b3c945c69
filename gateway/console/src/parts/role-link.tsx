import { Link } from "@tanstack/react-router";
import { useGet } from "../api/queries.ts";
import { toRecord } from "./links.ts";
import { useWhyNot } from "./me.tsx";

/** A role by its name, which leads to its page; its id alone says nothing to whoever may not read roles. */
export function RoleLink({ id }: { id: string }) {
  const mayRead = useWhyNot("GET /api/v1/roles/{id}") === null;
  const { data } = useGet("/api/v1/roles/{id}", { params: { path: { id } } }, { enabled: mayRead });
  return data ? <Link {...toRecord("/roles/$id", { id })}>{data.name}</Link> : <span className="soft">a role</span>;
}
