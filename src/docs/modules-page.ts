// Generates the table of modules in docs/modules.md. Everything else on the page is written by hand. The modules of
// bench/ are left out, because bench/README.md lists them with their content.
import { type Modules, modules } from './modules.js';
import { type Page, replaceGenerated } from './page.js';

export const modulesPage: Page = {
  path: 'docs/modules.md',
  write: (present) => replaceGenerated(present, tableOf(modules)),
};

function tableOf(listed: Modules): string {
  const shown = Object.entries(listed).filter(([path]) => path.startsWith('src/'));
  const rows = shown.map(([path, { purpose, imports }]) => {
    const used = imports.map((other) => nameOf(other)).join(', ');
    return `| ${nameOf(path)} | ${purpose} | ${used} |`;
  });
  return ['| module | purpose | may import |', '|---|---|---|', ...rows].join('\n');
}

/** As the page writes it: modules of the service without `src/`. */
const nameOf = (path: string) => `\`${path.replace(/^src\//, '')}\``;
