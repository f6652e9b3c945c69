import type { Database } from "@muster/db";
import { AppError, type CallContext, messageOf, validationError } from "@muster/kit";
import { SchemaTooSlow, type SchemaVerdict, type Validator } from "../rules/json-schema.ts";
import { type EventTypeRow, findEventType } from "../store/event-types.ts";
import type { Schemas } from "./slow-schemas.ts";

/** Checks posted events of organizations' own types. */
export type OwnEvents = {
  /**
   * Throws `unknown_event_type` for a type that the organization does not have or has archived, `validation_failed`
   * with the path in `data` that its schema refuses.
   */
  check(context: CallContext, event: { orgId: string; type: string; dataJson: string }): Promise<void>;
};

type Compiled = { revision: number; validate: Validator };

/** Most schemas that are kept compiled. */
const maxCompiled = 256;
const tooSlow = { path: "", message: "The schema of this type takes too long" };

export function ownEvents({ db, schemas }: { db: Database; schemas: Schemas }): OwnEvents {
  const compiled = new Map<string, Compiled>();

  const validatorOf = ({ id, revision, schema, org_id: orgId }: EventTypeRow): Validator => {
    const kept = compiled.get(id);
    if (kept?.revision === revision) return kept.validate;
    const validate = compiledOrRefusing(schemas, orgId, schema ?? "{}");
    compiled.delete(id);
    compiled.set(id, { revision, validate });
    for (const oldest of compiled.keys()) {
      if (compiled.size <= maxCompiled) break;
      compiled.delete(oldest);
    }
    return validate;
  };

  const verdictOf = (row: EventTypeRow, dataJson: string): SchemaVerdict => {
    try {
      return validatorOf(row)(JSON.parse(dataJson));
    } catch (error) {
      if (!(error instanceof SchemaTooSlow)) throw error;
      return tooSlow;
    }
  };

  return {
    async check(context, { orgId, type, dataJson }) {
      const row = await findEventType(db, context, orgId, type);
      if (!row || row.archived) throw unknownEventType([type]);
      const verdict = row.schema === null ? null : verdictOf(row, dataJson);
      if (verdict === null) return;
      throw validationError({ [verdict.path === "" ? "data" : `data.${verdict.path}`]: [verdict.message] });
    },
  };
}

/** A schema that was accepted once and cannot be compiled any more refuses every event, in words. */
function compiledOrRefusing(schemas: Schemas, orgId: string, schema: string): Validator {
  try {
    return schemas.compile(orgId, schema);
  } catch (error) {
    if (error instanceof SchemaTooSlow) throw error;
    const message = messageOf(error);
    return () => ({ path: "", message });
  }
}

export const unknownEventType = (types: readonly string[]): AppError =>
  new AppError("unknown_event_type", "Unknown event type", {
    facts: { types: types.slice(0, 20).map((each) => each.slice(0, 100)) },
  });
