"""Lines and pages of text in fonts of Debian, rendered by Pillow: always the same for the same seed."""

import pathlib
import subprocess
import tempfile

import numpy as np
from PIL import Image, ImageDraw, ImageFont

PACKAGES = ("fonts-dejavu-core", "fonts-dejavu-extra", "fonts-liberation", "fonts-wqy-zenhei", "fonts-wqy-microhei", "fonts-arphic-ukai")
LATIN = ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono", "DejaVuSerif", "DejaVuSerif-Italic", "DejaVuSansCondensed", "LiberationSans-Regular",
         "LiberationSans-Bold", "LiberationSerif-Regular", "LiberationSerif-Italic", "LiberationMono-Regular", "LiberationSansNarrow-Regular")
CHINESE = ("wqy-zenhei", "wqy-microhei", "ukai")  # they have Latin letters, too
WORDS = (
    "the of and to in is that for it was on are as with his they at be this from have or by one had not but what all were when we there can an your "
    "which their said if do will each about how up out them then she many some so these would other into has more her two like him see time could no "
    "make than first been its who now people my made over did down only way find use may water long little very after words called just where most "
    "know get through back much before go good new write our used me man too any day same right look think also around another came come work three "
    "Total Invoice Date Address Street Number Phone Email Street Berlin London Paris Madrid Beijing Order Price Amount Tax Customer Account Bank "
    "Model Version Serial Warranty Battery Voltage Temperature Pressure Made Germany China Keep Away From Children Store Cool Dry Place Best Before").split()
PHRASES = (
    "今天天气很好 我们一起去公园 请保持安静 小心地滑 禁止吸烟 出口在左边 欢迎光临 谢谢惠顾 有限责任公司 人民共和国 北京市朝阳区 上海市浦东新区 广东省深圳市 中国建设银行 "
    "生产日期 保质期十二个月 净含量 配料表 营养成分 贮存方法 阴凉干燥处 联系电话 收货地址 发票号码 合计金额 大写金额 经办人签字 会议纪要 项目名称 技术参数 "
    "使用说明书 安全注意事项 床前明月光 疑是地上霜 举头望明月 低头思故乡 春眠不觉晓 处处闻啼鸟 夜来风雨声 花落知多少 白日依山尽 黄河入海流 欲穷千里目 更上一层楼 "
    "学而时习之 不亦说乎 有朋自远方来 不亦乐乎 温故而知新 可以为师矣 图像识别技术 神经网络模型 量化精度损失 文字检测与识别 高速铁路车票 身份证号码 驾驶证 营业执照").split()


def fonts(cache):
    """The files of the fonts, by name. The packages are unpacked in `cache`; nothing is installed."""
    if not cache.exists():
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run(["apt-get", "download", *PACKAGES], cwd=scratch, check=True, capture_output=True)
            unpacked = pathlib.Path(scratch) / "unpacked"
            for package in pathlib.Path(scratch).glob("*.deb"):
                subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
            cache.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["mv", unpacked, cache], check=True)
    return {file.stem: file for file in sorted(cache.rglob("*.tt[fc]"))}


class Printer:
    def __init__(self, files, seed):
        self.files, self.rng = files, np.random.default_rng(seed)

    def choose(self, values):
        return values[self.rng.integers(len(values))]

    def number(self):
        kind = self.rng.integers(4)
        if kind == 0:
            return str(self.rng.integers(10 ** int(self.rng.integers(1, 7))))
        if kind == 1:
            return f"{self.rng.integers(2000)}.{self.rng.integers(100):02}"
        if kind == 2:
            return f"20{self.rng.integers(10, 30)}-{self.rng.integers(1, 13):02}-{self.rng.integers(1, 29):02}"
        return f"{self.rng.integers(100)}%"

    def latin(self):
        words = [self.number() if self.rng.random() < 0.12 else self.choose(WORDS) for _ in range(self.rng.integers(2, 8))]
        words = [word + (self.choose([",", ".", ":", ";"]) if self.rng.random() < 0.1 else "") for word in words]
        return (str.upper if self.rng.random() < 0.1 else str)(" ".join(words))

    def chinese(self):
        return self.choose(["", "，", " "]).join(self.choose(PHRASES) for _ in range(self.rng.integers(1, 4)))

    def mixed(self):
        parts = [self.choose(PHRASES) if self.rng.random() < 0.5 else self.choose([self.number(), self.choose(WORDS)]) for _ in range(self.rng.integers(2, 5))]
        return self.choose([" ", " ", "："]).join(parts)

    def text(self):
        """A line, and a font that has its letters."""
        kind = self.rng.integers(5)
        if kind < 3:
            return self.latin(), self.choose(LATIN if self.rng.random() < 0.8 else CHINESE)
        return (self.chinese() if kind == 3 else self.mixed()), self.choose(CHINESE)

    def font(self, name, size):
        return ImageFont.truetype(str(self.files[name]), size)

    def colours(self):
        paper, ink = self.rng.integers(200, 256, 3), self.rng.integers(0, 90, 3)
        if self.rng.random() < 0.15:
            paper, ink = ink, paper
        return tuple(map(int, paper)), tuple(map(int, ink))

    def noise(self, picture, deviation):
        pixels = np.asarray(picture, np.float32) + self.rng.normal(0, deviation, (picture.height, picture.width, 1))
        return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))

    def line(self, height=48, step=32):
        """A picture of a line, `height` pixels high; its width is a multiple of `step`."""
        text, name = self.text()
        size = int(self.rng.integers(24, 64))
        font = self.font(name, size)
        left, top, right, bottom = font.getbbox(text)
        margin = self.rng.integers(1, size // 4, 4)
        paper, ink = self.colours()
        picture = Image.new("RGB", (int(right - left + margin[0] + margin[1]), int(bottom - top + margin[2] + margin[3])), paper)
        ImageDraw.Draw(picture).text((int(margin[0]) - left, int(margin[2]) - top), text, ink, font)
        picture = picture.resize((max(step, round(picture.width * height / picture.height)), height), Image.BICUBIC)
        wide = Image.new("RGB", (-(-picture.width // step) * step, height), paper)
        wide.paste(picture)
        return text, self.noise(wide, self.rng.uniform(0, 6))

    def page(self, width=640, height=640):
        paper, ink = self.colours()
        picture = Image.new("RGB", (width, height), paper)
        draw = ImageDraw.Draw(picture)
        y = int(self.rng.integers(10, 40))
        while True:
            text, name = self.text()
            font = self.font(name, int(self.rng.integers(14, 40)))
            left, top, right, bottom = font.getbbox(text)
            if y + bottom - top > height - 10:
                break
            x = int(self.rng.integers(10, max(11, width - 10 - right + left)))
            draw.text((x - left, y - top), text, ink, font)
            y += bottom - top + int(self.rng.integers(12, 50))
        if self.rng.random() < 0.5:
            picture = picture.rotate(self.rng.uniform(-4, 4), Image.BICUBIC, fillcolor=paper)
        return self.noise(picture, self.rng.uniform(0, 8))
