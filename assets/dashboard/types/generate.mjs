// Writes `api.d.ts`: one TypeScript type for each schema of the OpenAPI document.
//
//   ringmail openapi | node assets/dashboard/types/generate.mjs          writes the file
//   ringmail openapi | node assets/dashboard/types/generate.mjs --check  fails if the file is stale
import { readFileSync, writeFileSync } from 'node:fs';

const { schemas } = JSON.parse(readFileSync(0, 'utf8')).components;
const target = new URL('api.d.ts', import.meta.url);

/** Name of a property, quoted if it is no identifier. */
const key = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

/** The TypeScript type of a schema. */
function typeOf(schema) {
  if (schema === true || schema === undefined || Object.keys(schema).length === 0) return 'unknown';
  if (schema.$ref) return schema.$ref.split('/').pop();
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const parts = schema.oneOf ?? schema.anyOf;
  if (parts) return [...new Set(parts.map(typeOf))].join(' | ');
  if (schema.allOf) return schema.allOf.map(typeOf).join(' & ');
  const types = [schema.type].flat();
  return types.map((type) => plain(type, schema)).join(' | ');
}

function plain(type, schema) {
  if (type === 'array') {
    const item = typeOf(schema.items ?? true);
    return /[|&]/.test(item) ? `(${item})[]` : `${item}[]`;
  }
  if (type === 'object' && schema.properties) return object(schema);
  if (type === 'object') return `Record<string, ${schema.additionalProperties ? typeOf(schema.additionalProperties) : 'unknown'}>`;
  if (type === 'integer' || type === 'number') return 'number';
  if (type === undefined) return 'unknown';
  return type;
}

function object(schema) {
  const required = new Set(schema.required);
  const lines = Object.entries(schema.properties).map(([name, property]) => {
    const note = property.description ? `  /** ${property.description.replace(/\s+/g, ' ').replaceAll('*/', '* /')} */\n` : '';
    return `${note}  ${key(name)}${required.has(name) ? '' : '?'}: ${typeOf(property).replaceAll('\n', '\n  ')};\n`;
  });
  return `{\n${lines.join('')}}`;
}

const types = Object.keys(schemas).sort().map((name) => `export type ${name} = ${typeOf(schemas[name])};\n`);
const text = `// Types of the API. Made by generate.mjs from \`ringmail openapi\`; do not edit.\n\n${types.join('\n')}`;

if (process.argv[2] === '--check') {
  if (readFileSync(target, 'utf8') !== text) {
    console.error('types/api.d.ts is stale: run `ringmail openapi | node assets/dashboard/types/generate.mjs`.');
    process.exit(1);
  }
} else writeFileSync(target, text);
