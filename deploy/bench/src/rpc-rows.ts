export type ServerKind = "connect-http1" | "connect-http2" | "grpc-js" | "lean-http" | "muster";
export type ClientKind =
  | "connect-grpc"
  | "connect-http2"
  | "connect-http1"
  | "grpc-js"
  | "undici"
  | "muster"
  | "muster-caller";

export type Row = {
  label: string;
  client: ClientKind;
  server: ServerKind;
  telemetry: boolean;
  /** What the bars are measured against. */
  baseline?: "grpc" | "connect";
};

const row = (label: string, client: ClientKind, server: ServerKind, more: Partial<Row> = {}): Row => ({
  label,
  client,
  server,
  telemetry: false,
  ...more,
});

const on = { telemetry: true };

/** The stock rows, ours, then the stock clients against our port; the last group has spans on both sides. */
export const rows: readonly Row[] = [
  row("connect-node gRPC -> connect-node", "connect-grpc", "connect-http2", { baseline: "grpc" }),
  row("connect-node Connect h2 -> connect-node", "connect-http2", "connect-http2", { baseline: "connect" }),
  row("connect-node Connect h1 -> connect-node", "connect-http1", "connect-http1", { baseline: "connect" }),
  row("grpc-js -> grpc-js", "grpc-js", "grpc-js"),
  row("undici, Connect unary -> connect-node", "undici", "connect-http1"),
  row("undici, Connect unary -> lean node:http", "undici", "lean-http"),
  row("ours -> ours", "muster", "muster"),
  row("ours -> ours, with caller token", "muster-caller", "muster"),
  row("connect-node gRPC -> ours", "connect-grpc", "muster"),
  row("connect-node Connect h2 -> ours", "connect-http2", "muster"),
  row("connect-node Connect h1 -> ours", "connect-http1", "muster"),
  row("grpc-js -> ours", "grpc-js", "muster"),
  row("connect-node gRPC -> connect-node", "connect-grpc", "connect-http2", { ...on, baseline: "grpc" }),
  row("connect-node Connect h2 -> connect-node", "connect-http2", "connect-http2", { ...on, baseline: "connect" }),
  row("connect-node Connect h1 -> connect-node", "connect-http1", "connect-http1", { ...on, baseline: "connect" }),
  row("ours -> ours", "muster", "muster", on),
  row("ours -> ours, with caller token", "muster-caller", "muster", on),
];
