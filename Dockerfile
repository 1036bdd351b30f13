# The gateway, `holdfast serve`, for any machine:
#   docker build -t holdfast .
#   docker run -d -p 8787:8787 -v holdfast:/data -e GATEWAY_TOKEN=… holdfast --allow-host gateway.lan
# Clients send the token in the header x-holdfast-token. docs/operations.md has the rest.

FROM python:3.13-slim AS build
COPY pyproject.toml README.md LICENSE /src/
COPY src /src/src
RUN python -m venv /opt/holdfast \
 && /opt/holdfast/bin/pip install --no-cache-dir "/src[gateway,otel,postgres,openai,anthropic]"

FROM python:3.13-slim
RUN useradd --uid 10001 --no-create-home holdfast \
 && install --directory --owner=holdfast --mode=0700 /data
COPY --from=build /opt/holdfast /opt/holdfast
ENV PATH=/opt/holdfast/bin:$PATH \
    HOLDFAST_HOME=/data \
    XDG_CONFIG_HOME=/data/config \
    HOLDFAST_GATEWAY_TOKEN_VARIABLE=GATEWAY_TOKEN \
    PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8787
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s \
  CMD python -c "import os, urllib.request as web; web.urlopen(web.Request( \
    'http://127.0.0.1:8787/readyz', headers={'x-holdfast-token': os.environ['GATEWAY_TOKEN']}), timeout=4)"
ENTRYPOINT ["holdfast", "serve", "--host", "0.0.0.0"]
