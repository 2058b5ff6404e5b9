# One image, a command per process: docker run IMAGE gateway/main.ts
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run pages \
 && npm ci --omit=dev --omit=optional \
 && rm -rf node_modules/.cache

FROM node:24-bookworm-slim
# Nothing is installed at run time.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn*
WORKDIR /app
ENV NODE_ENV=production
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/cabinet ./cabinet
COPY --from=build /app/core ./core
COPY --from=build /app/crds ./crds
COPY --from=build /app/gateway ./gateway
COPY --from=build /app/operator ./operator
COPY --from=build /app/release ./release
COPY --from=build /app/standalone ./standalone
COPY --from=build /app/worker ./worker
USER 65532:65532
ENTRYPOINT ["node"]
