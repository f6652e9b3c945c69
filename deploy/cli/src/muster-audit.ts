#!/usr/bin/env node
import { auditProgram } from "./offline/audit.ts";

process.exitCode = await auditProgram(process.argv.slice(2));
