/** Sends requests exactly as recorded: no URL object normalises the path. */
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import type { Answer, FormPart, RecordedRequest } from './cases.ts';

const timeoutMs = 30_000;

/** The server's address, and the folder of the files to send. */
export interface Recipient {
  readonly base: string;
  readonly files: string;
  readonly agent?: http.Agent;
}

export const send = ({ base, files, agent }: Recipient, request: RecordedRequest) => {
  const { method, path: target, headers = {} } = request;
  const { hostname, port } = new URL(base);
  const sent: Record<string, string> = { ...headers };
  const payload = payloadOf(request, files);
  if (payload) {
    if (!Object.keys(sent).some((name) => name.toLowerCase() === 'content-type')) sent['content-type'] = payload.type;
    sent['content-length'] = String(payload.bytes.length);
  }
  return new Promise<Answer>((resolve, reject) => {
    const options = { hostname, port, method, path: target, headers: sent, agent: agent ?? (false as const) };
    const outgoing = http.request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode = 0, headers: received } = response;
        resolve({ status: statusCode, headers: received, body: parsed(Buffer.concat(chunks).toString('utf8')) });
      });
    });
    outgoing.setTimeout(timeoutMs, () => outgoing.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    outgoing.on('error', reject);
    outgoing.end(payload?.bytes);
  });
};

interface Payload {
  readonly type: string;
  readonly bytes: Buffer;
}

const payloadOf = ({ body, multipart }: RecordedRequest, files: string): Payload | null => {
  if (multipart !== undefined) return formOf(multipart, files);
  return body === undefined ? null : { type: 'application/json', bytes: Buffer.from(textOf(body)) };
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const boundary = '----recorded-cases';

/** Written by hand, because a part may lack a Content-Type. */
const formOf = (parts: readonly FormPart[], files: string): Payload => {
  const quoted = (text: string): string => `"${text.replace(/"/g, '%22').replace(/\r/g, '%0D').replace(/\n/g, '%0A')}"`;
  const chunks = parts.flatMap((part) => {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name=${quoted(part.name)}`;
    if ('value' in part) return [`${head}\r\n\r\n`, textOf(part.value), '\r\n'];
    const type = part.type === undefined ? '' : `\r\nContent-Type: ${part.type}`;
    const filename = quoted(part.filename ?? path.basename(part.file));
    return [`${head}; filename=${filename}${type}\r\n\r\n`, fs.readFileSync(path.join(files, part.file)), '\r\n'];
  });
  const bytes = Buffer.concat([...chunks, `--${boundary}--\r\n`].map((it) => Buffer.from(it as string)));
  return { type: `multipart/form-data; boundary=${boundary}`, bytes };
};

const parsed = (text: string): unknown => {
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};
