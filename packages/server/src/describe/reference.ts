/**
 * An OpenAPI document as a page of HTML: without scripts, so that it works anywhere and its policy can be strict. Viewers
 * that unfold every reference do not end on a query language that is recursive; here types are links.
 */
import type { JsonSchema } from './schemas.js';

type Node = JsonSchema;

/** @param document made by `openapiOf`. @param documentUrl where it is, relative to the page. */
export const referenceOf = (document: Node, documentUrl: string): string => {
  const paths = Object.entries(document['paths'] as Record<string, Record<string, Node>>);
  const operations = paths.flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => method !== 'parameters')
      .map(([method, operation]) => ({
        path,
        method,
        operation,
        tag: (operation['tags'] as readonly string[])[0] ?? '',
      })),
  );
  const tags = (document['tags'] as readonly { readonly name: string }[]).map(({ name }) => name);
  const { schemas } = document['components'] as { readonly schemas: Record<string, Node> };
  const { title, description } = document['info'] as { readonly title: string; readonly description: string };
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title>
<style>${style}</style>
</head>
<body>
<nav aria-label="Contents"><ul>
${tags.map((tag) => `<li><a href="#${anchor('tag', tag)}">${text(tag)}</a></li>`).join('\n')}
<li><a href="#schemas">schemas</a></li>
</ul></nav>
<main>
<h1>${text(title)}</h1>
<p>${withCode(description)}</p>
<p>This is what the caller of this page may use. <a href="${text(documentUrl)}">OpenAPI document</a></p>
${tags
  .map(
    (tag) => `<section><h2 id="${anchor('tag', tag)}">${text(tag)}</h2>
${operations
  .filter((it) => it.tag === tag)
  .map(({ path, method, operation }) => operationHtml(path, method, operation))
  .join('\n')}
</section>`,
  )
  .join('\n')}
<section><h2 id="schemas">Schemas</h2>
${Object.entries(schemas)
  .map(
    ([name, schema]) =>
      `<details id="${anchor('schema', name)}"><summary>${text(name)}</summary>${schemaHtml(schema)}</details>`,
  )
  .join('\n')}
</section>
</main>
</body>
</html>
`;
};

const operationHtml = (path: string, method: string, operation: Node): string => {
  const parameters = (operation['parameters'] ?? []) as readonly Node[];
  const body = contentOf(operation['requestBody'] as Node | undefined);
  const responses = Object.entries((operation['responses'] ?? {}) as Record<string, Node>);
  return `<details class="operation"><summary><b class="${method}">${method.toUpperCase()}</b> <code>${text(path)}</code> ${text(String(operation['summary'] ?? operation['description'] ?? ''))}</summary>
${
  parameters.length === 0
    ? ''
    : table(
        'Parameters',
        parameters.map((it) => [
          `<code>${text(String(it['name']))}</code>`,
          typeHtml(it['schema'] as Node),
          withCode(String(it['description'] ?? '')),
        ]),
      )
}
${body ? `<h4>Body</h4><p>${typeHtml(body)}</p>` : ''}
${table(
  'Responses',
  responses.map(([status, it]) => {
    const schema = contentOf(it);
    return [
      `<code>${text(status)}</code>`,
      schema ? typeHtml(schema) : it['$ref'] ? link('Error') : '',
      text(
        String(
          it['description'] ??
            String(it['$ref'] ?? '')
              .split('/')
              .at(-1),
        ),
      ),
    ];
  }),
)}
</details>`;
};

/** The schema of a body in JSON. */
const contentOf = (body: Node | undefined): Node | undefined =>
  (body?.['content'] as Record<string, { readonly schema: Node }> | undefined)?.['application/json']?.schema;

const schemaHtml = (schema: Node): string => {
  const properties = schema['properties'] as Record<string, Node> | undefined;
  if (!properties || schema['$ref'] !== undefined) return `<p>${typeHtml(schema)}</p>`;
  const required = (schema['required'] ?? []) as readonly string[];
  const rows = Object.entries(properties).map(([name, it]) => [
    `<code>${text(name)}</code>${required.includes(name) ? ' <em>required</em>' : ''}`,
    typeHtml(it),
    withCode(String(it['description'] ?? '')),
  ]);
  return `${schema['description'] ? `<p>${text(String(schema['description']))}</p>` : ''}${table('', rows)}`;
};

/** A type in words, with links to named ones. */
const typeHtml = (schema: Node | undefined): string => {
  if (!schema || Object.keys(schema).length === 0) return 'any';
  const { $ref: ref, const: constant, enum: members, type, items, properties, pattern, format } = schema;
  const alternatives = (schema['anyOf'] ?? schema['oneOf']) as readonly Node[] | undefined;
  if (typeof ref === 'string') return link(ref.split('/').at(-1) ?? '');
  if (constant !== undefined) return `<code>${text(JSON.stringify(constant))}</code>`;
  if (Array.isArray(members)) return members.map((it) => `<code>${text(JSON.stringify(it))}</code>`).join(' | ');
  if (alternatives) {
    const [one, list, ...others] = alternatives.map(typeHtml);
    if (list === `list of ${one}` && others.length === 0) return `${one}, or a list of them`;
    return alternatives.map(typeHtml).join(' | ');
  }
  if (type === 'array') return `list of ${typeHtml(items as Node | undefined)}`;
  if (properties)
    return objectHtml(properties as Record<string, Node>, (schema['required'] ?? []) as readonly string[]);
  const named = [type]
    .flat()
    .map((it) => text(String(it ?? 'any')))
    .join(' | ');
  if (format !== undefined) return `${named} (${text(String(format))})`;
  return pattern !== undefined && String(pattern).length < 40
    ? `${named} <code>${text(String(pattern))}</code>`
    : named;
};

const objectHtml = (properties: Record<string, Node>, required: readonly string[]): string =>
  `<ul>${Object.entries(properties)
    .map(([name, it]) => `<li><code>${text(name)}</code>${required.includes(name) ? '' : '?'}: ${typeHtml(it)}</li>`)
    .join('')}</ul>`;

const table = (caption: string, rows: readonly (readonly string[])[]): string =>
  rows.length === 0
    ? ''
    : `${caption === '' ? '' : `<h4>${caption}</h4>`}<table>${rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('\n')}</table>`;

const link = (name: string): string => `<a href="#${anchor('schema', name)}">${text(name)}</a>`;
const anchor = (kind: string, name: string): string => text(`${kind}-${name}`);
const withCode = (prose: string): string => text(prose).replace(/`([^`]*)`/g, '<code>$1</code>');

/** Schema files name types and attributes, so nothing of them may be read as HTML. */
const text = (value: string): string => value.replace(/[&<>"']/g, (it) => `&#${it.charCodeAt(0)};`);

const style = `
:root { color-scheme: light dark; --line: light-dark(#d8dce2, #3a4048); --soft: light-dark(#f5f6f8, #1c2026); }
body { font: 15px/1.55 system-ui, sans-serif; margin: 0; display: grid; grid-template-columns: 14rem minmax(0, 62rem); gap: 2rem; }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow: auto; padding: 1.5rem 0 1.5rem 1.5rem; }
nav ul { list-style: none; padding: 0; } nav a { text-decoration: none; }
main { padding: 1rem 1.5rem 4rem 0; }
code { font: 13px ui-monospace, monospace; background: var(--soft); padding: 0 .25em; border-radius: 3px; overflow-wrap: anywhere; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; padding: .5rem .75rem; }
details:target { outline: 2px solid light-dark(#2f6fd6, #7fb0ff); }
summary { cursor: pointer; } summary b { display: inline-block; min-width: 4.5em; }
.get { color: light-dark(#1d7a3e, #6cd391); } .post, .put { color: light-dark(#8a5a00, #e8b75a); } .delete { color: light-dark(#b3261e, #ff8f86); }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; } td { border-top: 1px solid var(--line); padding: .3rem .6rem .3rem 0; vertical-align: top; }
td:first-child code { white-space: nowrap; }
td ul { margin: 0; padding-left: 1.1rem; } em { font-size: 12px; opacity: .75; }
@media (max-width: 50rem) { body { display: block; } nav { position: static; } main { padding: 1rem 1.5rem; } }
@media print { nav { display: none; } }
`;
