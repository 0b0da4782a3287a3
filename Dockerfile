FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm run build && npm prune --omit=dev --no-audit --no-fund

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY package.json LICENSE ./
COPY schemas schemas
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# By number: Kubernetes cannot tell whether a name is root's.
USER 1000:1000
EXPOSE 8080 9464
CMD ["node", "dist/cli/bin.js", "run"]
