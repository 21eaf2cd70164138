// The page's style sheet, for screen and paper.

/** Light on both. Nothing is told by colour alone. */
export const STYLE = `
:root { color-scheme: light; --ink: #1a1a1a; --soft: #555; --line: #d5d5d5; --good: #00603f; --bad: #a80f14; --odd: #8a5200; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1320px; padding: 28px 32px 60px; background: #fff; color: var(--ink);
  font: 15px/1.45 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif; }
h1 { font-size: 27px; margin: 0 0 4px; }
h2 { font-size: 21px; margin: 0 0 4px; }
h3 { font-size: 15px; margin: 0; }
p { margin: 6px 0; max-width: 92ch; }
a { color: inherit; text-decoration-color: #999; text-underline-offset: 2px; }
.soft { color: var(--soft); }
.tally { display: flex; flex-wrap: wrap; gap: 10px; margin: 16px 0 18px; padding: 0; list-style: none; }
.tally li { border: 1px solid var(--line); border-radius: 6px; padding: 6px 14px; }
.tally b { font-size: 20px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--line); vertical-align: middle; }
th { font-weight: 600; color: var(--soft); font-size: 13px; white-space: nowrap; }
tbody th { color: var(--ink); font-size: 14px; padding-top: 16px; border-bottom: 2px solid #999; }
td.number, th.number { text-align: right; white-space: nowrap; }
td.figure { font-weight: 600; }
.verdict { white-space: nowrap; font-weight: 600; margin-right: 14px; }
.met { color: var(--good); }
.missed, .fault { color: var(--bad); }
.invalid, .quick { color: var(--odd); }
.watched { color: var(--soft); font-weight: 400; }
.quick { font-size: 13px; font-weight: 600; border: 1px solid; border-radius: 4px; padding: 0 6px; white-space: nowrap; }
col.goal { width: 36%; }
.gauge { display: block; width: 132px; height: 16px; }
section { margin-top: 44px; padding-top: 20px; border-top: 3px solid var(--ink); }
.faults { border: 2px solid var(--bad); border-radius: 6px; padding: 6px 14px; margin: 12px 0; color: var(--bad); font-weight: 600; }
.faults ul { margin: 2px 0; padding-left: 20px; font-weight: 400; }
.doubts { border: 2px solid var(--odd); border-radius: 6px; padding: 6px 14px; margin: 12px 0; color: var(--odd); font-weight: 600; }
.doubts ul { margin: 2px 0; padding-left: 20px; font-weight: 400; }
.contents { columns: 2 380px; margin: 0 0 18px; padding-left: 18px; font-size: 13.5px; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(520px, 100%), 1fr)); gap: 26px 34px; margin: 24px 0 10px; align-items: start; }
figure { margin: 0; min-width: 0; max-width: 700px; break-inside: avoid; }
figcaption { margin-bottom: 6px; }
figcaption p { margin: 2px 0 0; font-size: 13px; color: var(--soft); }
figure svg { width: 100%; height: auto; display: block; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 2px 18px; margin: 16px 0 0; font-size: 13px; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.reading { margin-top: 26px; padding: 10px 18px; border: 1px solid var(--line); border-radius: 6px; font-size: 13.5px; columns: 2 380px; column-gap: 40px; }
.reading p { margin: 0 0 7px; break-inside: avoid; }
@page { size: A4; margin: 14mm 13mm; }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; line-height: 1.35; }
  h1 { font-size: 18pt; } h2 { font-size: 14pt; } h3 { font-size: 10.5pt; }
  section { break-before: page; margin-top: 0; border-top-width: 2px; padding-top: 10px; }
  section header, .faults, .doubts, .facts, tr { break-inside: avoid; }
  tbody th { break-after: avoid; }
  td, th { padding: 2px 8px 2px 0; font-size: 9pt; }
  figcaption p, .facts, .reading { font-size: 8.5pt; }
  .plots { display: block; margin: 14px 0 6px; }
  figure { max-width: 115mm; margin-bottom: 10px; }
  .reading { break-inside: avoid; }
  .gauge { width: 88px; }
  a { text-decoration: none; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
`;
