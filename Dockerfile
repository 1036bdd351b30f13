# The gateway, `foldaway serve`, for any machine:
#   docker build -t foldaway .
#   docker run -d -p 8787:8787 -v foldaway:/data -e GATEWAY_TOKEN=… foldaway --allow-host gateway.lan
# Clients send the token in the header x-foldaway-token. docs/operations.md has the rest.

FROM python:3.13-slim AS build
COPY pyproject.toml README.md LICENSE /src/
COPY src /src/src
COPY packages /src/packages
RUN python -m venv /opt/foldaway \
 && /opt/foldaway/bin/pip install --no-cache-dir "/src[gateway,otel,postgres,openai,anthropic]"

FROM python:3.13-slim
RUN useradd --uid 10001 --no-create-home foldaway \
 && install --directory --owner=foldaway --mode=0700 /data
COPY --from=build /opt/foldaway /opt/foldaway
ENV PATH=/opt/foldaway/bin:$PATH \
    FOLDAWAY_HOME=/data \
    XDG_CONFIG_HOME=/data/config \
    FOLDAWAY_GATEWAY_TOKEN_VARIABLE=GATEWAY_TOKEN \
    PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8787
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s \
  CMD python -c "import os, urllib.request as web; web.urlopen(web.Request( \
    'http://127.0.0.1:8787/readyz', headers={'x-foldaway-token': os.environ['GATEWAY_TOKEN']}), timeout=4)"
ENTRYPOINT ["foldaway", "serve", "--host", "0.0.0.0"]
