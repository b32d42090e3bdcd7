// npm run build: CSS by Tailwind's CLI, JS by esbuild, icons and fonts copied. The output is committed.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync, readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";

const src = "internal/web/assets/src", out = "internal/web/assets/dist";
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
execFileSync("npx", ["@tailwindcss/cli", "-i", `${src}/app.css`, "-o", `${out}/app.css`, "--minify"], { stdio: "inherit" });
await build({ entryPoints: [`${src}/app.js`], outdir: out, bundle: true, minify: true, format: "esm", splitting: true, target: "es2022", legalComments: "none", chunkNames: "[name]-[hash]" });

const fonts = "node_modules/@fontsource-variable";
copyFileSync(`${fonts}/geist/files/geist-latin-wght-normal.woff2`, `${out}/geist.woff2`);
copyFileSync(`${fonts}/geist-mono/files/geist-mono-latin-wght-normal.woff2`, `${out}/geist-mono.woff2`);
copyFileSync(`${src}/favicon.svg`, `${out}/favicon.svg`);

// one sprite of the icons in use
const symbols = readFileSync(`${src}/icons.txt`, "utf8").trim().split(/\s+/).map((name) => {
  const svg = readFileSync(`node_modules/lucide-static/icons/${name}.svg`, "utf8");
  const inner = svg.slice(svg.indexOf(">", svg.indexOf("<svg")) + 1, svg.lastIndexOf("</svg>"));
  return `<symbol id="${name}" viewBox="0 0 24 24">${inner.replace(/\s+/g, " ").trim()}</symbol>`;
});
writeFileSync(`${out}/icons.svg`, `<svg xmlns="http://www.w3.org/2000/svg">${symbols.join("")}</svg>`);

for (const name of readdirSync(out).sort()) {
  const b = readFileSync(`${out}/${name}`);
  console.log(name.padEnd(26), String(b.length).padStart(7), "gz", String(gzipSync(b, { level: 9 }).length).padStart(6));
}
