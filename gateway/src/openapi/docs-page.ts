import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { AppError, cspLine, type Logger, uuidv7 } from "@muster/kit";
import type { ErrorRequestHandler, Express } from "express";
import { errorReply } from "../errors.ts";
import type { Pages } from "../http/pages.ts";

const docsPath = "/docs";

const assets = ["swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png"];

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Muster API</title>
<link rel="stylesheet" href="${docsPath}/assets/swagger-ui.css">
<link rel="icon" type="image/png" href="${docsPath}/assets/favicon-32x32.png">
</head>
<body>
<div id="api"></div>
<script src="${docsPath}/assets/swagger-ui-bundle.js"></script>
<script src="${docsPath}/assets/start.js"></script>
</body>
</html>
`;

const start = `SwaggerUIBundle({ url: "/api/v1/openapi.json", dom_id: "#api", deepLinking: true, validatorUrl: null });\n`;

/** Nothing from elsewhere, and no script that is not a file of ours. */
const policy = cspLine({
  "default-src": ["'none'"],
  "script-src": ["'self'"],
  "style-src": ["'self'", "'unsafe-inline'"],
  "img-src": ["'self'", "data:"],
  "connect-src": ["'self'"],
  "base-uri": ["'none'"],
  "form-action": ["'none'"],
  "frame-ancestors": ["'none'"],
});

/**
 * The docs page, with all its assets served from here. Express, 4 MB of a gateway, is loaded with the first request.
 */
export function createDocs(log: Logger): Pages {
  let loading: Promise<Express> | undefined;
  return {
    serves: (_method, path) => path === docsPath || path.startsWith(`${docsPath}/`),
    handler(request, response) {
      loading ??= docsApp(log);
      loading
        .then((app) => app(request, response))
        .catch((err: unknown) => {
          loading = undefined;
          log.error({ err }, "page failed");
          response.destroy();
        });
    },
  };
}

async function docsApp(log: Logger): Promise<Express> {
  const { default: express } = await import("express");
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.use((_request, response, next) => {
    response.set({
      ...Object.fromEntries([policy]),
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
    });
    next();
  });
  app.get(docsPath, (_request, response) => {
    response.set("Cache-Control", "no-cache").type("html").send(page);
  });
  app.get(`${docsPath}/assets/start.js`, (_request, response) => {
    response.set("Cache-Control", "no-cache").type("js").send(start);
  });
  const folder = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  // Read for each request: 2 MB that are rarely requested.
  app.get(`${docsPath}/assets/:name`, async (request, response, next) => {
    const { name } = request.params;
    if (!assets.includes(name)) return next();
    response
      .set("Cache-Control", "public, max-age=3600")
      .type(name)
      .send(await readFile(`${folder}/${name}`));
  });
  app.use((_request, _response, next) => next(new AppError("not_found", "Not found")));
  const onError: ErrorRequestHandler = (error, _request, response, next) => {
    if (response.headersSent) return next(error);
    const header = response.getHeader("X-Request-Id");
    const reply = errorReply(error, typeof header === "string" ? header : uuidv7());
    if (reply.status >= 500) log.error({ err: error }, "page failed");
    response.status(reply.status).type("json").send(reply.body);
  };
  app.use(onError);
  return app;
}
