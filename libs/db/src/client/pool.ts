import { AppError, type FairSlots, fairSlots, gauge, type Logger, type Wanted } from "@muster/kit";
import pg from "pg";
import { endpointOf } from "./endpoint.ts";
import { isServerGone } from "./failures.ts";
import { valueTypes } from "./value-types.ts";

const poolConnections = gauge("muster_db_pool_connections", "Connections of the pool, by use.", ["database", "use"]);
const waitingTransactions = gauge("muster_db_pool_waiting_transactions", "Transactions that wait for a connection.", [
  "database",
]);

export type PoolOptions = {
  url: string;
  max: number;
  name: string;
  log: Logger;
  /** Takes a server that only replays another one's changes, too. */
  standby?: boolean;
};

export type ConnectionPool = {
  /**
   * A connection, of which an owner's slow work gets its fair share (docs/concepts.md#fair-share). Throws AppError
   * `overloaded` after 2 s without a free one, else what pg throws; code 25006 for a server in recovery.
   */
  connect(wanted: Wanted): Promise<pg.PoolClient>;
  /**
   * Returns the connection to the pool. After an error it is closed; after an error that reports a server's end, all
   * connections opened before are closed, too.
   */
  release(client: pg.PoolClient, error?: unknown): void;
  /** Opens connections until there are `max`; fewer when three could not be had. */
  fill(): Promise<void>;
  close(): Promise<void>;
};

const connectTimeoutMs = 2_000;
const fillTries = 3;
const idleTimeoutMs = 60_000;

/** Knows what the server reports of itself, at the start and whenever it changes: whether it is a standby. */
class ServerClient extends pg.Client {
  inRecovery = false;

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    const { connection } = this as unknown as { connection: NodeJS.EventEmitter };
    connection.on("parameterStatus", (status: { parameterName: string; parameterValue: string }) => {
      if (status.parameterName === "in_hot_standby") this.inRecovery = status.parameterValue === "on";
    });
  }
}

/**
 * Connections to the server behind one address, which may change: after a server's end or demotion no earlier
 * connection is handed out again, and a standby's never is (unless `standby`).
 */
export function openPool({ url, max, name, log, standby = false }: PoolOptions): ConnectionPool {
  const pool = new pg.Pool({
    ...endpointOf(url, log),
    Client: ServerClient as unknown as new () => pg.ClientBase,
    max,
    application_name: name,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: idleTimeoutMs,
    keepAlive: true,
    pipeline: true,
    types: valueTypes,
  } as pg.PoolConfig);
  const slots = fairSlots(max);
  const takenFor = new WeakMap<object, Wanted>();
  const observe = poolMetrics(name, pool, slots);
  const madeIn = new WeakMap<object, number>();
  let generation = 0;

  pool.on("connect", (client) => {
    madeIn.set(client, generation);
    // A connection that dies in use or idle emits an event, which would end the process without a listener.
    client.on("error", (err) => log.warn({ err }, "database connection lost"));
  });
  pool.on("error", observe);

  const discard = (client: pg.PoolClient) => {
    client.release(true);
    observe();
  };

  /** Null when it has come. */
  const turn = (wanted: Wanted): Promise<void> | null => {
    let come = () => {};
    const begin = () => come();
    if (slots.take(wanted, begin)) return null;
    observe();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        if (!slots.withdraw(wanted, begin)) return;
        observe();
        reject(new AppError("overloaded", "The service is overloaded", { retryAfterSeconds: 1 }));
      }, connectTimeoutMs);
      come = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  };

  const connect = async (wanted: Wanted) => {
    const waiting = turn(wanted);
    if (waiting !== null) await waiting;
    try {
      const client = await open();
      takenFor.set(client, wanted);
      return client;
    } catch (error) {
      slots.leave(wanted);
      throw error;
    }
  };
  const open = async () => {
    for (;;) {
      const connecting = pool.connect();
      observe();
      const client = await connecting;
      if (madeIn.get(client) !== generation) discard(client);
      else if (!standby && (await isStandby(client, discard))) {
        discard(client);
        throw Object.assign(new Error("the database at this address is a standby"), { code: "25006" });
      } else return client;
    }
  };
  const release = (client: pg.PoolClient, error?: unknown) => {
    if (error === undefined && madeIn.get(client) === generation) client.release();
    // A connection inside a transaction would hand its tenant to the next borrower.
    else client.release(true);
    if (isServerGone(error)) generation += 1;
    const wanted = takenFor.get(client);
    takenFor.delete(client);
    if (wanted !== undefined) slots.leave(wanted);
    observe();
  };

  return {
    connect,
    release,
    async fill() {
      const held: pg.PoolClient[] = [];
      // One after the other: on a busy machine several handshakes at once would take longer than any of them may.
      for (let failed = 0; held.length < max && failed < fillTries; ) {
        try {
          held.push(await open());
        } catch (err) {
          failed += 1;
          log.warn({ err, open: held.length, max }, "a connection could not be opened ahead of requests");
        }
      }
      for (const client of held) release(client);
    },
    close: () => pool.end(),
  };
}

/** Checked only when the server reported recovery: a pooler may still report the state of when it connected. */
async function isStandby(client: pg.PoolClient, discard: (client: pg.PoolClient) => void): Promise<boolean> {
  const server = client as unknown as ServerClient;
  if (!server.inRecovery) return false;
  try {
    const { rows } = await client.query<{ inRecovery: boolean }>('select pg_is_in_recovery() as "inRecovery"');
    server.inRecovery = rows[0]?.inRecovery ?? true;
    return server.inRecovery;
  } catch (error) {
    discard(client);
    throw error;
  }
}

function poolMetrics(database: string, pool: pg.Pool, slots: FairSlots): () => void {
  return () => {
    poolConnections.set({ database, use: "busy" }, pool.totalCount - pool.idleCount);
    poolConnections.set({ database, use: "idle" }, pool.idleCount);
    waitingTransactions.set({ database }, pool.waitingCount + slots.waiting);
  };
}
