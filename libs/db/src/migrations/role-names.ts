export type RoleNames = { schema: string; owner: string; app: string; lookup: string };

/** Schema and roles of a service, as `deploy/sql/roles.sql` makes them. */
export function roleNames(service: string): RoleNames {
  const schema = service.replaceAll("-", "_");
  if (!/^[a-z][a-z0-9_]{0,40}$/.test(schema)) throw new TypeError(`not a service's name: ${service}`);
  return { schema, owner: `muster_${schema}_owner`, app: `muster_${schema}_app`, lookup: `muster_${schema}_lookup` };
}

/** Duties of a service that have their own login role, besides the application's. */
const duties: Readonly<Record<string, readonly string[]>> = { audit: ["pruner"] };

/** The role of each duty of a service: `muster_audit_pruner`. */
export function dutyRoles(service: string): Record<string, string> {
  const { schema } = roleNames(service);
  return Object.fromEntries((duties[service] ?? []).map((duty) => [duty, `muster_${schema}_${duty}`]));
}
