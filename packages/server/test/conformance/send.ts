/** Requests as they were recorded: no URL object touches the path. */
import http from 'node:http';
import type { Answer, RecordedRequest } from './cases.ts';

const timeoutMs = 30_000;

export const send = (base: string, { method, path, headers = {}, body }: RecordedRequest, agent?: http.Agent) => {
  const { hostname, port } = new URL(base);
  const sent: Record<string, string> = { ...headers };
  const payload = body === undefined ? null : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  if (payload) {
    if (!Object.keys(sent).some((name) => name.toLowerCase() === 'content-type'))
      sent['content-type'] = 'application/json';
    sent['content-length'] = String(payload.length);
  }
  return new Promise<Answer>((resolve, reject) => {
    const options = { hostname, port, method, path, headers: sent, agent: agent ?? (false as const) };
    const request = http.request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body: parsed(Buffer.concat(chunks).toString('utf8')) });
      });
    });
    request.setTimeout(timeoutMs, () => request.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    request.on('error', reject);
    request.end(payload ?? undefined);
  });
};

const parsed = (text: string): unknown => {
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};
