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
    this.connection.on("parameterStatus", (status: { parameterName: string; parameterValue: string }) => {
      if (status.parameterName === "in_hot_standby") this.inRecovery = status.parameterValue === "on";
    });
  }
}

/**
 * Connections to the server behind one address, which may change: after a server's end or demotion no earlier
 * connection is handed out again, and a standby's never is (unless `standby`).
 */
export function openPool(options: PoolOptions): ConnectionPool {
  return new FairPool(options);
}

class FairPool implements ConnectionPool {
  readonly #max: PoolOptions["max"];
  readonly #log: PoolOptions["log"];
  readonly #standby: NonNullable<PoolOptions["standby"]>;
  readonly #pool: pg.Pool;
  readonly #slots: ReturnType<typeof fairSlots>;
  readonly #takenFor = new WeakMap<object, Wanted>();
  readonly #observe: ReturnType<typeof poolMetrics>;
  readonly #madeIn = new WeakMap<object, number>();
  #generation = 0;

  constructor({ url, max, name, log, standby = false }: PoolOptions) {
    this.#max = max;
    this.#log = log;
    this.#standby = standby;
    this.#pool = new pg.Pool({
      ...endpointOf(url, log),
      Client: ServerClient,
      max,
      application_name: name,
      connectionTimeoutMillis: connectTimeoutMs,
      idleTimeoutMillis: idleTimeoutMs,
      keepAlive: true,
      pipeline: true,
      types: valueTypes,
    });
    this.#slots = fairSlots(max);
    this.#observe = poolMetrics(name, this.#pool, this.#slots);
    this.#pool.on("connect", (client) => {
      this.#madeIn.set(client, this.#generation);
      // A connection that dies in use or idle emits an event, which would end the process without a listener.
      client.on("error", (err) => log.warn({ err }, "database connection lost"));
    });
    this.#pool.on("error", this.#observe);
  }

  readonly #discard = (client: pg.PoolClient) => {
    client.release(true);
    this.#observe();
  };

  /** Null when it has come. */
  #turn(wanted: Wanted): Promise<void> | null {
    let come = () => {};
    const begin = () => come();
    if (this.#slots.take(wanted, begin)) return null;
    this.#observe();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        if (!this.#slots.withdraw(wanted, begin)) return;
        this.#observe();
        reject(new AppError("overloaded", "The service is overloaded", { retryAfterSeconds: 1 }));
      }, connectTimeoutMs);
      come = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  readonly connect = async (wanted: Wanted): Promise<pg.PoolClient> => {
    const waiting = this.#turn(wanted);
    if (waiting !== null) await waiting;
    try {
      const client = await this.#open();
      this.#takenFor.set(client, wanted);
      return client;
    } catch (error) {
      this.#slots.leave(wanted);
      throw error;
    }
  };

  async #open() {
    for (;;) {
      const connecting = this.#pool.connect();
      this.#observe();
      const client = await connecting;
      if (this.#madeIn.get(client) !== this.#generation) this.#discard(client);
      else if (!this.#standby && (await isStandby(client, this.#discard))) {
        this.#discard(client);
        throw Object.assign(new Error("the database at this address is a standby"), { code: "25006" });
      } else return client;
    }
  }

  readonly release = (client: pg.PoolClient, error?: unknown): void => {
    if (error === undefined && this.#madeIn.get(client) === this.#generation) client.release();
    // A connection inside a transaction would hand its tenant to the next borrower.
    else client.release(true);
    if (isServerGone(error)) this.#generation += 1;
    const wanted = this.#takenFor.get(client);
    this.#takenFor.delete(client);
    if (wanted !== undefined) this.#slots.leave(wanted);
    this.#observe();
  };

  readonly fill = async (): Promise<void> => {
    const held: pg.PoolClient[] = [];
    // One after the other: on a busy machine several handshakes at once would take longer than any of them may.
    for (let failed = 0; held.length < this.#max && failed < fillTries; ) {
      try {
        held.push(await this.#open());
      } catch (err) {
        failed += 1;
        this.#log.warn(
          { err, open: held.length, max: this.#max },
          "a connection could not be opened ahead of requests",
        );
      }
    }
    for (const client of held) this.release(client);
  };

  readonly close = (): Promise<void> => {
    return this.#pool.end();
  };
}

/** Checked only when the server reported recovery: a pooler may still report the state of when it connected. */
async function isStandby(client: pg.PoolClient, discard: (client: pg.PoolClient) => void): Promise<boolean> {
  if (!(client instanceof ServerClient && client.inRecovery)) return false;
  try {
    const { rows } = await client.query<{ inRecovery: boolean }>('select pg_is_in_recovery() as "inRecovery"');
    client.inRecovery = rows[0]?.inRecovery ?? true;
    return client.inRecovery;
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
