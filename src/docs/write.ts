// Writes the generated pages: `make docs`. test/unit/docs.test.ts fails while one of them is stale.
import { writeFile } from 'node:fs/promises';
import { compared, pages } from './pages.js';

for (const page of pages) {
  const { file, present, wanted } = await compared(page);
  if (present !== wanted) await writeFile(file, wanted);
  console.log(`${page.path}: ${present === wanted ? 'unchanged' : 'written'}`);
}
