import { useQuery } from "@tanstack/react-query";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { batched } from "../rules/batch.ts";

const idsMax = 100;

const load = batched(idsMax, async (ids) => {
  const { data } = await dataOf(api.GET("/api/v1/names", { params: { query: { ids: [...ids] } } }));
  return new Map(data.map(({ id, name }) => [id, name]));
});

/** The name of a record by its id; nothing while it is not known, and of one that the user may not see. */
export const useNameOf = (id: string, enabled = true): string | null | undefined =>
  useQuery({ queryKey: ["name", id], queryFn: () => load(id), staleTime: 300_000, enabled }).data;

/**
 * The name of a record of which a list holds only the id; the beginning of the id when the user may not know the name.
 */
export const NameOf = ({ id }: { id: string }) => useNameOf(id) ?? <code>{id.slice(0, 8)}</code>;

/** The column with each row's organization, for lists with rows of several organizations. */
export const organizationColumn = {
  id: "org",
  title: "Organization",
  width: "12rem",
  cell: ({ orgId }: { orgId: string }) => <NameOf id={orgId} />,
};
